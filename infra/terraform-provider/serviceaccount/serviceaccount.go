// Package serviceaccount is the resource ringmaster_service_account.
package serviceaccount

import (
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"ringmaster/terraform-provider/client"
	"ringmaster/terraform-provider/plain"
)

type model struct {
	ID           types.String `tfsdk:"id"`
	Name         types.String `tfsdk:"name"`
	Description  types.String `tfsdk:"description"`
	Contact      types.String `tfsdk:"contact"`
	Role         types.String `tfsdk:"role"`
	CustomRoleID types.String `tfsdk:"custom_role_id"`
	Disabled     types.Bool   `tfsdk:"disabled"`
}

type document struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description"`
	Contact     string `json:"contact"`
	Role        string `json:"role"`
	CustomRole  *struct {
		ID string `json:"id"`
	} `json:"custom_role"`
	DisabledAt *string `json:"disabled_at"`
}

// New makes the resource.
func New() resource.Resource {
	return plain.Kind[model]{
		Name: "service_account",
		Schema: schema.Schema{
			MarkdownDescription: "An account for programs. Its tokens are made in the console or with the command line, where they are shown once. The server keeps accounts for its history: destroying one disables it, which ends its tokens for good.",
			Attributes: map[string]schema.Attribute{
				"id":             plain.ID("sva"),
				"name":           schema.StringAttribute{Required: true, MarkdownDescription: "1 to 60 characters, the only one of its name."},
				"description":    schema.StringAttribute{Optional: true, Computed: true, Default: stringdefault.StaticString(""), MarkdownDescription: "For people, at most 300 characters."},
				"contact":        schema.StringAttribute{Required: true, MarkdownDescription: "E-mail address of whoever answers for it."},
				"role":           schema.StringAttribute{Required: true, MarkdownDescription: "`owner`, `admin`, `operator`, `viewer` or `custom`."},
				"custom_role_id": schema.StringAttribute{Optional: true, MarkdownDescription: "With `custom`: id of a `ringmaster_role`."},
				"disabled":       schema.BoolAttribute{Optional: true, Computed: true, Default: booldefault.StaticBool(false), MarkdownDescription: "Its tokens end, for good. Default: false."},
			},
		},
		Create: func(ctx context.Context, c *client.Client, m *model) (string, error) {
			var made document
			body := m.body()
			delete(body, "disabled")
			if err := c.Post(ctx, "/service-accounts", body, &made); err != nil {
				return "", known(ctx, c, m.Name.ValueString(), err)
			}
			disabled := m.Disabled
			if m.take(made); disabled.ValueBool() {
				return "", c.Patch(ctx, client.Path("service-accounts", made.ID), map[string]any{"disabled": true}, nil)
			}
			return "", nil
		},
		Read: func(ctx context.Context, c *client.Client, m *model) error {
			var now document
			err := c.Get(ctx, client.Path("service-accounts", m.ID.ValueString()), &now)
			if err == nil {
				m.take(now)
			}
			return err
		},
		Update: func(ctx context.Context, c *client.Client, m *model, before model) (string, error) {
			body := m.body()
			if m.Disabled.Equal(before.Disabled) {
				delete(body, "disabled")
			}
			return "", c.Patch(ctx, client.Path("service-accounts", m.ID.ValueString()), body, nil)
		},
		Delete: func(ctx context.Context, c *client.Client, m *model) (string, error) {
			// A role of the organisation's own could not be removed while it is held.
			body := map[string]any{"role": "viewer"}
			if !m.Disabled.ValueBool() {
				body["disabled"] = true
			}
			return "", c.Patch(ctx, client.Path("service-accounts", m.ID.ValueString()), body, nil)
		},
		Plan: func(_ context.Context, _ *client.Client, now, before *model, found *diag.Diagnostics) {
			if now == nil {
				found.AddWarning("The service account "+before.Name.ValueString()+" is disabled, not removed",
					"Its tokens end for good. The server keeps it and its name for the history.")
			}
		},
	}.Resource()
}

// known says of a name that is taken what has it.
func known(ctx context.Context, c *client.Client, name string, refused error) error {
	if !client.HasCode(refused, "service_account_name_taken") {
		return refused
	}
	all, err := client.Every[document](ctx, c, "/service-accounts", nil)
	if err != nil {
		return refused
	}
	for _, one := range all {
		if strings.EqualFold(one.Name, name) {
			return fmt.Errorf("%w\nTo go on with the one that is there, `terraform import` it as %s", refused, one.ID)
		}
	}
	return refused
}

func (m *model) body() map[string]any {
	return map[string]any{
		"name": m.Name.ValueString(), "description": m.Description.ValueString(), "contact": m.Contact.ValueString(), "role": m.Role.ValueString(),
		"custom_role_id": plain.Text(m.CustomRoleID), "disabled": m.Disabled.ValueBool(),
	}
}

func (m *model) take(of document) {
	m.ID, m.Name, m.Description = types.StringValue(of.ID), types.StringValue(of.Name), types.StringValue(of.Description)
	if !strings.EqualFold(m.Contact.ValueString(), of.Contact) {
		m.Contact = types.StringValue(of.Contact)
	}
	m.Role, m.CustomRoleID, m.Disabled = types.StringValue(of.Role), types.StringNull(), types.BoolValue(of.DisabledAt != nil)
	if of.CustomRole != nil {
		m.CustomRoleID = types.StringValue(of.CustomRole.ID)
	}
}
