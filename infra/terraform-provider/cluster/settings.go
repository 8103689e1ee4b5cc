package cluster

import (
	"context"
	"math/big"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// value is what JSON is made of. Numbers that are whole are whole numbers. Nil for null, and for what is not known yet.
func value(of attr.Value) any {
	if of == nil || of.IsNull() || of.IsUnknown() {
		return nil
	}
	switch it := of.(type) {
	case types.Dynamic:
		return value(it.UnderlyingValue())
	case types.String:
		return it.ValueString()
	case types.Bool:
		return it.ValueBool()
	case types.Number:
		if whole, exact := it.ValueBigFloat().Int64(); exact == big.Exact {
			return whole
		}
		number, _ := it.ValueBigFloat().Float64()
		return number
	case types.Object:
		return values(it.Attributes())
	case types.Map:
		return values(it.Elements())
	case types.List:
		return each(it.Elements())
	case types.Set:
		return each(it.Elements())
	case types.Tuple:
		return each(it.Elements())
	}
	return nil
}

func values(of map[string]attr.Value) map[string]any {
	found := map[string]any{}
	for name, one := range of {
		found[name] = value(one)
	}
	return found
}

func each(of []attr.Value) []any {
	found := []any{}
	for _, one := range of {
		found = append(found, value(one))
	}
	return found
}

// made is what was read from JSON, as a configuration would write it.
func made(ctx context.Context, of any) attr.Value {
	switch it := of.(type) {
	case string:
		return types.StringValue(it)
	case bool:
		return types.BoolValue(it)
	case float64:
		return types.NumberValue(big.NewFloat(it))
	case []any:
		kinds, values := []attr.Type{}, []attr.Value{}
		for _, one := range it {
			found := made(ctx, one)
			kinds, values = append(kinds, found.Type(ctx)), append(values, found)
		}
		return types.TupleValueMust(kinds, values)
	case map[string]any:
		kinds, values := map[string]attr.Type{}, map[string]attr.Value{}
		for name, one := range it {
			found := made(ctx, one)
			kinds[name], values[name] = found.Type(ctx), found
		}
		return types.ObjectValueMust(kinds, values)
	}
	return types.DynamicNull()
}
