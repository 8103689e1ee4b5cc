// Package member is the resource ringmaster_member.
package member

import (
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"ringmaster/terraform-provider/client"
	"ringmaster/terraform-provider/plain"
)

type model struct {
	Email         types.String `tfsdk:"email"`
	Role          types.String `tfsdk:"role"`
	CustomRoleID  types.String `tfsdk:"custom_role_id"`
	ID            types.String `tfsdk:"id"`
	State         types.String `tfsdk:"state"`
	InvitationURL types.String `tfsdk:"invitation_url"`
}

// person is a member, or somebody who is invited.
type person struct {
	ID         string `json:"id"`
	Email      string `json:"email"`
	Role       string `json:"role"`
	CustomRole *struct {
		ID string `json:"id"`
	} `json:"custom_role"`
	State string `json:"state"`
	URL   string `json:"url"`
}

const invited, joined = "invited", "member"

// New makes the resource.
func New() resource.Resource {
	return plain.Kind[model]{
		Name: "member",
		Schema: schema.Schema{
			MarkdownDescription: "A person of the organisation. Who has not joined yet is invited: send them `invitation_url`. An invitation that ran out is made again by the next apply. Destroying takes the invitation back, or the person out of the organisation.",
			Attributes: map[string]schema.Attribute{
				"email": schema.StringAttribute{
					Required: true, MarkdownDescription: "By which the person signs in. Another one is another person: the old one goes, the new one is invited.",
					PlanModifiers: []planmodifier.String{stringplanmodifier.RequiresReplaceIf(another, "Another person.", "Another person.")},
				},
				"role":           schema.StringAttribute{Required: true, MarkdownDescription: "`owner`, `admin`, `operator`, `viewer` or `custom`. Another one makes an open invitation anew."},
				"custom_role_id": schema.StringAttribute{Optional: true, MarkdownDescription: "With `custom`: id of a `ringmaster_role`."},
				"id":             schema.StringAttribute{Computed: true, MarkdownDescription: "Of the membership, or of the invitation while it is open."},
				"state":          schema.StringAttribute{Computed: true, MarkdownDescription: "`invited` or `member`."},
				"invitation_url": schema.StringAttribute{Computed: true, Sensitive: true, MarkdownDescription: "Where the person joins. Whoever has it can join in their place, so keep the state as a secret; empty once they joined, and when it was imported."},
			},
		},
		Import: []string{"email"},
		Create: func(ctx context.Context, c *client.Client, m *model) (string, error) { return "", invite(ctx, c, m) },
		Read: func(ctx context.Context, c *client.Client, m *model) error {
			now, err := find(ctx, c, m.Email.ValueString())
			if err == nil {
				m.take(now)
			}
			return err
		},
		Update: func(ctx context.Context, c *client.Client, m *model, before model) (string, error) {
			now, err := find(ctx, c, m.Email.ValueString())
			switch {
			case client.Missing(err):
				return "", invite(ctx, c, m)
			case err != nil:
				return "", err
			case now.State == joined:
				return "", c.Patch(ctx, client.Path("members", now.ID), m.body(), nil)
			case m.is(now):
				return "", nil
			}
			// There is one open invitation of an address: the other one is rehearsed before this one is taken back.
			if err := m.rehearse(ctx, c, "rehearsal."+now.Email); err != nil {
				return "", err
			}
			if err := c.Delete(ctx, client.Path("invitations", now.ID), nil, nil); err != nil {
				return "", err
			}
			return "", invite(ctx, c, m)
		},
		Delete: func(ctx context.Context, c *client.Client, m *model) (string, error) {
			now, err := find(ctx, c, m.Email.ValueString())
			switch {
			case err != nil:
				return "", err
			case now.State == joined:
				return "", c.Delete(ctx, client.Path("members", now.ID), nil, nil)
			}
			return "", c.Delete(ctx, client.Path("invitations", now.ID), nil, nil)
		},
		Plan: plan,
	}.Resource()
}

// another: large and small letters are one in addresses.
func another(_ context.Context, request planmodifier.StringRequest, response *stringplanmodifier.RequiresReplaceIfFuncResponse) {
	response.RequiresReplace = !strings.EqualFold(request.PlanValue.ValueString(), request.StateValue.ValueString())
}

func plan(ctx context.Context, c *client.Client, now, before *model, found *diag.Diagnostics) {
	switch {
	case now == nil || now.Email.IsUnknown():
	case before == nil:
		if there, err := find(ctx, c, now.Email.ValueString()); err == nil {
			found.AddAttributeError(path.Root("email"), there.Email+" is there already",
				fmt.Sprintf("This person is %s. To manage that here, `terraform import` it as %s.", map[string]string{invited: "invited", joined: "a member"}[there.State], there.Email))
		} else if !client.Missing(err) {
			plain.Refused(found, "Not read", err)
		} else if !now.Role.IsUnknown() && !now.CustomRoleID.IsUnknown() {
			if err := now.rehearse(ctx, c, now.Email.ValueString()); err != nil {
				plain.Refused(found, "Not possible", err)
			}
		}
	case now.Role.Equal(before.Role) && now.CustomRoleID.Equal(before.CustomRoleID):
		now.ID, now.State, now.InvitationURL = before.ID, before.State, before.InvitationURL
	case before.State.ValueString() == joined:
		now.ID, now.State, now.InvitationURL = before.ID, before.State, before.InvitationURL
		if now.Role.IsUnknown() || now.CustomRoleID.IsUnknown() {
			return
		}
		if err := c.Patch(ctx, client.Path("members", before.ID.ValueString())+"?dry_run=true", now.body(), nil); err != nil {
			plain.Refused(found, "Not possible", err)
		}
	}
}

// rehearse asks whether the person could be invited so.
func (m *model) rehearse(ctx context.Context, c *client.Client, email string) error {
	body := m.body()
	body["email"] = email
	return c.Post(ctx, client.Path("invitations")+"?dry_run=true", body, nil)
}

func invite(ctx context.Context, c *client.Client, m *model) error {
	body := m.body()
	body["email"] = m.Email.ValueString()
	var made person
	err := c.Post(ctx, "/invitations", body, &made)
	if err == nil {
		made.State = invited
		m.InvitationURL = types.StringValue(made.URL)
		m.take(made)
	}
	return err
}

// find looks for a member, then for an open invitation. client.Missing tells that there is neither.
func find(ctx context.Context, c *client.Client, email string) (person, error) {
	members, err := client.Every[person](ctx, c, "/members", nil)
	if err != nil {
		return person{}, err
	}
	for _, one := range members {
		if strings.EqualFold(one.Email, email) {
			one.State = joined
			return one, nil
		}
	}
	invitations, err := client.Every[person](ctx, c, "/invitations", nil)
	if err != nil {
		return person{}, err
	}
	for _, one := range invitations {
		if strings.EqualFold(one.Email, email) && one.State == "open" {
			one.State = invited
			return one, nil
		}
	}
	return person{}, client.NotThere("member " + email)
}

func (m *model) body() map[string]any {
	return map[string]any{"role": m.Role.ValueString(), "custom_role_id": plain.Text(m.CustomRoleID)}
}

func (m *model) is(now person) bool {
	custom := ""
	if now.CustomRole != nil {
		custom = now.CustomRole.ID
	}
	return m.Role.ValueString() == now.Role && m.CustomRoleID.ValueString() == custom
}

func (m *model) take(now person) {
	m.ID, m.State, m.Role, m.CustomRoleID = types.StringValue(now.ID), types.StringValue(now.State), types.StringValue(now.Role), types.StringNull()
	if now.CustomRole != nil {
		m.CustomRoleID = types.StringValue(now.CustomRole.ID)
	}
	if now.State == joined || m.InvitationURL.IsUnknown() {
		m.InvitationURL = types.StringNull()
	}
}
