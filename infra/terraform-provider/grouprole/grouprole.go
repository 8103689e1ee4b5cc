// Package grouprole is the resource ringmaster_group_role.
package grouprole

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64default"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"ringmaster/terraform-provider/client"
	"ringmaster/terraform-provider/plain"
)

type model struct {
	ID                 types.String `tfsdk:"id"`
	IdentityProviderID types.String `tfsdk:"identity_provider_id"`
	Group              types.String `tfsdk:"group"`
	Role               types.String `tfsdk:"role"`
	CustomRoleID       types.String `tfsdk:"custom_role_id"`
	Rank               types.Int64  `tfsdk:"rank"`
}

type document struct {
	ID               string `json:"id"`
	IdentityProvider struct {
		ID string `json:"id"`
	} `json:"identity_provider"`
	Group      string `json:"group"`
	Role       string `json:"role"`
	CustomRole *struct {
		ID string `json:"id"`
	} `json:"custom_role"`
	Rank int64 `json:"rank"`
}

// New makes the resource.
func New() resource.Resource {
	documents := plain.Documents[model, document]{At: "organisation/group-roles", ID: (*model).id, Order: order, Change: change, Take: (*model).take}
	kind := documents.Of(plain.Kind[model]{
		Name: "group_role",
		Schema: schema.Schema{
			MarkdownDescription: "People whom an identity provider has in a group are members of the organisation, in this role. Another role counts at once for those who are members by it. Destroying it takes those out who are members by this group only, and ends their API tokens.",
			Attributes: map[string]schema.Attribute{
				"id":                   plain.ID("grl"),
				"identity_provider_id": plain.Anew("Whose group it is, `idp_…`: `ringmaster_identity_providers` has them."),
				"group":                plain.Anew("As the provider calls it in the claim of groups, or the directory as `displayName`; upper and lower case count."),
				"role":                 schema.StringAttribute{Required: true, MarkdownDescription: "`owner`, `admin`, `operator`, `viewer` or `custom`; nothing that holds more than the token's owner."},
				"custom_role_id":       schema.StringAttribute{Optional: true, MarkdownDescription: "With `custom`: id of a `ringmaster_role`."},
				"rank": schema.Int64Attribute{
					Optional: true, Computed: true, Default: int64default.StaticInt64(100),
					MarkdownDescription: "1 to 10000. Who is in several groups has the role of the smallest rank. Default: 100.",
				},
			},
		},
		Plan: plan,
	})
	// The API tells them in a list only.
	kind.Read = func(ctx context.Context, c *client.Client, m *model) error {
		now, err := find(ctx, c, func(one document) bool { return one.ID == m.ID.ValueString() })
		if err == nil {
			m.take(now)
		}
		return err
	}
	return kind.Resource()
}

// plan refuses what the server would refuse, and says what is lost with a group's role.
func plan(ctx context.Context, c *client.Client, now, before *model, found *diag.Diagnostics) {
	if before != nil && (now == nil || !now.Group.Equal(before.Group) || !now.IdentityProviderID.Equal(before.IdentityProviderID)) {
		found.AddWarning("The group "+before.Group.ValueString()+" gives no role any more",
			"Who is a member by it only is none from then on, and their API tokens end. The last owner stays.")
		return
	}
	if now == nil || now.unknown() {
		return
	}
	var err error
	switch {
	case before == nil:
		err = c.Post(ctx, "/organisation/group-roles?dry_run=true", order(now), nil)
	case !now.Role.Equal(before.Role) || !now.CustomRoleID.Equal(before.CustomRoleID) || !now.Rank.Equal(before.Rank):
		err = c.Patch(ctx, client.Path("organisation", "group-roles", before.ID.ValueString())+"?dry_run=true", change(now), nil)
	}
	if client.HasCode(err, "group_role_exists") {
		there, notFound := find(ctx, c, func(one document) bool {
			return one.IdentityProvider.ID == now.IdentityProviderID.ValueString() && one.Group == now.Group.ValueString()
		})
		if notFound == nil {
			found.AddAttributeError(path.Root("group"), "The group "+there.Group+" has a role already",
				fmt.Sprintf("To manage it here, `terraform import` it as %s.", there.ID))
			return
		}
	}
	if err != nil {
		plain.Refused(found, "Not possible", err)
	}
}

func find(ctx context.Context, c *client.Client, is func(document) bool) (document, error) {
	all, err := client.Every[document](ctx, c, "/organisation/group-roles", nil)
	if err != nil {
		return document{}, err
	}
	for _, one := range all {
		if is(one) {
			return one, nil
		}
	}
	return document{}, client.NotThere("such role of a group")
}

func change(m *model) map[string]any {
	return map[string]any{"role": m.Role.ValueString(), "custom_role_id": plain.Text(m.CustomRoleID), "rank": m.Rank.ValueInt64()}
}

func order(m *model) map[string]any {
	body := change(m)
	body["identity_provider_id"], body["group"] = m.IdentityProviderID.ValueString(), m.Group.ValueString()
	return body
}

func (m *model) id() string { return m.ID.ValueString() }

func (m *model) unknown() bool {
	return m.IdentityProviderID.IsUnknown() || m.Group.IsUnknown() || m.Role.IsUnknown() || m.CustomRoleID.IsUnknown() || m.Rank.IsUnknown()
}

func (m *model) take(of document) {
	m.ID, m.IdentityProviderID, m.Group = types.StringValue(of.ID), types.StringValue(of.IdentityProvider.ID), types.StringValue(of.Group)
	m.Role, m.CustomRoleID, m.Rank = types.StringValue(of.Role), types.StringNull(), types.Int64Value(of.Rank)
	if of.CustomRole != nil {
		m.CustomRoleID = types.StringValue(of.CustomRole.ID)
	}
}
