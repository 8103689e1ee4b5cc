package plain

import (
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/types"
)

// Choice is a keyspace or one table of it, as the API has it.
type Choice struct {
	Keyspace string  `json:"keyspace"`
	Table    *string `json:"table"`
}

// Choices are what a configuration names: shop, shop.orders.
func Choices(of types.Set) []Choice {
	made := []Choice{}
	for _, name := range Texts(of) {
		one := Choice{Keyspace: name}
		if keyspace, table, is := strings.Cut(name, "."); is {
			one = Choice{Keyspace: keyspace, Table: &table}
		}
		made = append(made, one)
	}
	return made
}

// ChoiceSet names them as a configuration does. Null for none.
func ChoiceSet(of []Choice) types.Set {
	names := []string{}
	for _, one := range of {
		name := one.Keyspace
		if one.Table != nil {
			name += "." + *one.Table
		}
		names = append(names, name)
	}
	return TextSet(names)
}
