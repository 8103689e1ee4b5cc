package plain

import (
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/setdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// split cuts an id to import into as many words as there are names; the last may hold slashes.
func split(id string, names []string) ([]string, error) {
	words := strings.SplitN(id, "/", len(names))
	for _, word := range words {
		if word == "" || len(words) != len(names) {
			return nil, fmt.Errorf("%q is not %s", id, strings.ToUpper(strings.Join(names, "/")))
		}
	}
	return words, nil
}

// ID is the attribute by which the server knows the thing.
func ID(prefix string) schema.StringAttribute {
	return schema.StringAttribute{
		Computed: true, MarkdownDescription: "`" + prefix + "_…`", PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()},
	}
}

// Anew is an attribute for which the thing is made anew: for what holds no data.
func Anew(description string) schema.StringAttribute {
	return schema.StringAttribute{
		Required: true, MarkdownDescription: description + " Another one makes it anew.",
		PlanModifiers: []planmodifier.String{stringplanmodifier.RequiresReplace()},
	}
}

// Fixed refuses, at the plan, another value of what cannot be changed and must not be made anew. What an import could not read
// may be said.
func Fixed(found *diag.Diagnostics, name string, now, before attr.Value, reason string) {
	if !before.IsNull() && !now.IsUnknown() && !now.Equal(before) {
		found.AddAttributeError(path.Root(name), "Not possible", reason)
	}
}

// Kept is an attribute that the server fills once.
func Kept(description string) schema.StringAttribute {
	return schema.StringAttribute{
		Computed: true, MarkdownDescription: description, PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()},
	}
}

// Protection is on unless the configuration says otherwise.
func Protection(what string) schema.BoolAttribute {
	return schema.BoolAttribute{
		Optional: true, Computed: true, Default: booldefault.StaticBool(true),
		MarkdownDescription: "While on, the plan refuses to destroy " + what + ". It is Terraform's own: others can. Default: true.",
	}
}

// Protected refuses, at the plan and again when it is done, to destroy what is protected.
func Protected(what string, protection types.Bool) error {
	if protection.ValueBool() || protection.IsNull() {
		return fmt.Errorf("%s is protected, because its data would be lost: set deletion_protection = false and apply that first", what)
	}
	return nil
}

// Topics are what a receiver is told of.
func Topics(usual ...string) schema.SetAttribute {
	return schema.SetAttribute{
		Optional: true, Computed: true, ElementType: types.StringType, Default: setdefault.StaticValue(TextSet(usual)),
		MarkdownDescription: "`alerts`, `budgets`, `operations`; of webhooks `audit`, too, by a token that has `audit:read`. Default: `" + strings.Join(usual, "`, `") + "`.",
	}
}

// Cluster is the attribute of what belongs to a cluster.
func Cluster() schema.StringAttribute { return Anew("Id of the cluster, `clu_…`.") }
