package plain

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"ringmaster/terraform-provider/client"
)

// Elements is what a list, a set and a map have in common.
type Elements interface{ Elements() []attr.Value }

// Texts are the strings of a list or set; empty when it is null.
func Texts(of Elements) []string {
	found := []string{}
	for _, one := range of.Elements() {
		if text, is := one.(types.String); is {
			found = append(found, text.ValueString())
		}
	}
	return found
}

// TextSet is null for nothing, as a configuration has it that leaves it out.
func TextSet(of []string) types.Set {
	if len(of) == 0 {
		return types.SetNull(types.StringType)
	}
	values := []attr.Value{}
	for _, one := range of {
		values = append(values, types.StringValue(one))
	}
	return types.SetValueMust(types.StringType, values)
}

// Numbers are the whole numbers of a list or set.
func Numbers(of Elements) []int64 {
	found := []int64{}
	for _, one := range of.Elements() {
		if number, is := one.(types.Int64); is {
			found = append(found, number.ValueInt64())
		}
	}
	return found
}

// NumberSet is empty, not null, for nothing.
func NumberSet(of []int64) types.Set {
	values := []attr.Value{}
	for _, one := range of {
		values = append(values, types.Int64Value(one))
	}
	return types.SetValueMust(types.Int64Type, values)
}

// Text is nil where nothing is wanted, or where it is not known yet what.
func Text(of types.String) *string {
	if of.IsNull() || of.IsUnknown() {
		return nil
	}
	return of.ValueStringPointer()
}

// Number is nil where nothing is wanted, or where it is not known yet what.
func Number(of types.Int64) *int64 {
	if of.IsNull() || of.IsUnknown() {
		return nil
	}
	return of.ValueInt64Pointer()
}

// Begun is the answer of what goes on as an operation.
type Begun struct {
	Operation client.Operation `json:"operation"`
}

// Patiently does what is refused as long as another operation works on the same cluster, when that has ended.
func Patiently(ctx context.Context, do func() error) error {
	for {
		err := do()
		if !client.HasCode(err, "operation_in_progress") {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(time.Second):
		}
	}
}
