// Package accesssettings is the resource ringmaster_access_settings.
package accesssettings

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/boolplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"ringmaster/terraform-provider/client"
	"ringmaster/terraform-provider/plain"
)

type model struct {
	ID                   types.String `tfsdk:"id"`
	TokenDaysDefault     types.Int64  `tfsdk:"token_days_default"`
	TokenDaysMax         types.Int64  `tfsdk:"token_days_max"`
	DeletesNeedTwo       types.Bool   `tfsdk:"deletes_need_two"`
	PasswordSignIn       types.Bool   `tfsdk:"password_sign_in"`
	SecondFactorRequired types.Bool   `tfsdk:"second_factor_required"`
}

type document struct {
	TokenDaysDefault     *int64 `json:"token_days_default"`
	TokenDaysMax         *int64 `json:"token_days_max"`
	DeletesNeedTwo       bool   `json:"deletes_need_two"`
	PasswordSignIn       bool   `json:"password_sign_in"`
	SecondFactorRequired bool   `json:"second_factor_required"`
}

// New makes the resource.
func New() resource.Resource {
	const stays = " Left out: stays as it is."
	days := func(description string) schema.Int64Attribute {
		return schema.Int64Attribute{
			Optional: true, Computed: true, PlanModifiers: []planmodifier.Int64{int64planmodifier.UseStateForUnknown()}, MarkdownDescription: description + stays,
		}
	}
	flag := func(description string) schema.BoolAttribute {
		return schema.BoolAttribute{
			Optional: true, Computed: true, PlanModifiers: []planmodifier.Bool{boolplanmodifier.UseStateForUnknown()}, MarkdownDescription: description + stays,
		}
	}
	return plain.Kind[model]{
		Name: "access_settings",
		Schema: schema.Schema{
			MarkdownDescription: "How people and programs come in. Every organisation has one; this keeps it as the configuration says, and leaves it as it is when it is removed from it.",
			Attributes: map[string]schema.Attribute{
				"id":                     plain.Kept("Of the organisation, `org_…`."),
				"token_days_default":     days("Days that an API token lives when its order does not say; 0: as long as `token_days_max` says."),
				"token_days_max":         days("Days that API tokens may live at most; 0: for ever. Those that are there keep their time."),
				"deletes_need_two":       flag("Clusters and backups are deleted only when a second person has confirmed it. Turning it off takes a second person, too."),
				"password_sign_in":       flag("false: members have to sign in through an identity provider; owners need not."),
				"second_factor_required": flag("Console sessions without a second factor reach nothing. A person who has one must turn it on, so a service account's token cannot."),
			},
		},
		Create: func(ctx context.Context, c *client.Client, m *model) (string, error) { return "", m.set(ctx, c) },
		Read:   func(ctx context.Context, c *client.Client, m *model) error { return m.read(ctx, c) },
		Update: func(ctx context.Context, c *client.Client, m *model, _ model) (string, error) {
			return "", m.set(ctx, c)
		},
		Delete: func(context.Context, *client.Client, *model) (string, error) { return "", nil },
		Plan: func(ctx context.Context, c *client.Client, now, before *model, found *diag.Diagnostics) {
			if now == nil {
				found.AddWarning("The access settings stay as they are", "They are only not kept by Terraform any more.")
				return
			}
			body := now.body()
			if len(body) == 0 || before != nil && now.same(before) {
				return
			}
			if err := c.Patch(ctx, "/organisation/access-settings?dry_run=true", body, nil); err != nil {
				plain.Refused(found, "Not possible", err)
			}
		},
	}.Resource()
}

// read refuses an id that is not the organisation's own: it would be imported by mistake.
func (m *model) read(ctx context.Context, c *client.Client) error {
	var ours struct {
		ID string `json:"id"`
	}
	if err := c.Get(ctx, "/organisation", &ours); err != nil {
		return err
	}
	if id := m.ID.ValueString(); id != "" && id != ours.ID {
		return client.NotThere("organisation " + id + " that the token speaks for")
	}
	var now document
	if err := c.Get(ctx, "/organisation/access-settings", &now); err != nil {
		return err
	}
	m.ID = types.StringValue(ours.ID)
	m.take(now)
	return nil
}

func (m *model) set(ctx context.Context, c *client.Client) error {
	if body := m.body(); len(body) > 0 {
		if err := c.Patch(ctx, "/organisation/access-settings", body, nil); err != nil {
			return err
		}
	}
	return m.read(ctx, c)
}

// body says what is known only; 0 days are none in the API's words.
func (m *model) body() map[string]any {
	body := map[string]any{}
	for name, one := range map[string]types.Int64{"token_days_default": m.TokenDaysDefault, "token_days_max": m.TokenDaysMax} {
		if number := plain.Number(one); number != nil && *number == 0 {
			body[name] = nil
		} else if number != nil {
			body[name] = *number
		}
	}
	for name, one := range map[string]types.Bool{"deletes_need_two": m.DeletesNeedTwo, "password_sign_in": m.PasswordSignIn, "second_factor_required": m.SecondFactorRequired} {
		if !one.IsNull() && !one.IsUnknown() {
			body[name] = one.ValueBool()
		}
	}
	return body
}

func (m *model) same(before *model) bool {
	return m.TokenDaysDefault.Equal(before.TokenDaysDefault) && m.TokenDaysMax.Equal(before.TokenDaysMax) && m.DeletesNeedTwo.Equal(before.DeletesNeedTwo) &&
		m.PasswordSignIn.Equal(before.PasswordSignIn) && m.SecondFactorRequired.Equal(before.SecondFactorRequired)
}

func (m *model) take(of document) {
	m.TokenDaysDefault, m.TokenDaysMax = orNone(of.TokenDaysDefault), orNone(of.TokenDaysMax)
	m.DeletesNeedTwo, m.PasswordSignIn = types.BoolValue(of.DeletesNeedTwo), types.BoolValue(of.PasswordSignIn)
	m.SecondFactorRequired = types.BoolValue(of.SecondFactorRequired)
}

func orNone(of *int64) types.Int64 {
	if of == nil {
		return types.Int64Value(0)
	}
	return types.Int64Value(*of)
}
