// Package cqlrole is the resource ringmaster_cql_role.
package cqlrole

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"ringmaster/terraform-provider/client"
	"ringmaster/terraform-provider/plain"
)

type model struct {
	ClusterID types.String `tfsdk:"cluster_id"`
	Name      types.String `tfsdk:"name"`
	CanLogin  types.Bool   `tfsdk:"can_login"`
}

// Role is one of a database, as the API lists it.
type Role struct {
	Name        string   `json:"name"`
	CanLogin    bool     `json:"can_login"`
	MemberOf    []string `json:"member_of"`
	Permissions []struct {
		Resource   string `json:"resource"`
		Permission string `json:"permission"`
	} `json:"permissions"`
}

// New makes the resource.
func New() resource.Resource {
	return plain.Kind[model]{
		Name: "cql_role",
		Schema: schema.Schema{
			MarkdownDescription: "A role of a cluster's database. One that can sign in gets a password that nobody knows until it is revealed, once, in the console or by `POST …/roles/{role}/reveal`; it never is in Terraform's state.",
			Attributes: map[string]schema.Attribute{
				"cluster_id": plain.Cluster(),
				"name":       plain.Anew("1 to 63 letters, digits and underscores."),
				"can_login":  schema.BoolAttribute{Optional: true, Computed: true, Default: booldefault.StaticBool(true), MarkdownDescription: "Default: true."},
			},
		},
		Import: []string{"cluster_id", "name"},
		Create: func(ctx context.Context, c *client.Client, m *model) (string, error) {
			body := map[string]any{"name": m.Name.ValueString(), "can_login": m.CanLogin.ValueBool()}
			return begin(ctx, func(begun *plain.Begun) error { return c.Post(ctx, Path(m.ClusterID.ValueString()), body, begun) })
		},
		Read: func(ctx context.Context, c *client.Client, m *model) error {
			found, err := Find(ctx, c, m.ClusterID.ValueString(), m.Name.ValueString())
			if err == nil {
				m.CanLogin = types.BoolValue(found.CanLogin)
			}
			return err
		},
		Update: func(ctx context.Context, c *client.Client, m *model, _ model) (string, error) {
			body := map[string]any{"can_login": m.CanLogin.ValueBool()}
			return begin(ctx, func(begun *plain.Begun) error {
				return c.Patch(ctx, Path(m.ClusterID.ValueString(), m.Name.ValueString()), body, begun)
			})
		},
		Delete: func(ctx context.Context, c *client.Client, m *model) (string, error) {
			return begin(ctx, func(begun *plain.Begun) error {
				return c.Delete(ctx, Path(m.ClusterID.ValueString(), m.Name.ValueString()), nil, begun)
			})
		},
	}.Resource()
}

// Path is of a cluster's roles, or of what is below.
func Path(clusterID string, words ...string) string {
	return client.Path(append([]string{"clusters", clusterID, "roles"}, words...)...)
}

// Find reads one role. client.Missing tells that there is none.
func Find(ctx context.Context, c *client.Client, clusterID, name string) (Role, error) {
	var all struct {
		Items []Role `json:"items"`
	}
	if err := c.Get(ctx, Path(clusterID), &all); err != nil {
		return Role{}, err
	}
	for _, one := range all.Items {
		if one.Name == name {
			return one, nil
		}
	}
	return Role{}, client.NotThere("role " + name)
}

func begin(ctx context.Context, do func(*plain.Begun) error) (string, error) {
	var begun plain.Begun
	err := plain.Patiently(ctx, func() error { return do(&begun) })
	return begun.Operation.ID, err
}
