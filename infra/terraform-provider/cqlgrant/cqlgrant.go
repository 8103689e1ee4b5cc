// Package cqlgrant is the resource ringmaster_cql_grant.
package cqlgrant

import (
	"context"
	"net/url"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"ringmaster/terraform-provider/client"
	"ringmaster/terraform-provider/cqlrole"
	"ringmaster/terraform-provider/plain"
)

type model struct {
	ClusterID   types.String `tfsdk:"cluster_id"`
	Role        types.String `tfsdk:"role"`
	Resource    types.String `tfsdk:"resource"`
	Permissions types.Set    `tfsdk:"permissions"`
}

// New makes the resource.
func New() resource.Resource {
	return plain.Kind[model]{
		Name: "cql_grant",
		Schema: schema.Schema{
			MarkdownDescription: "What a role may do on a resource of the database. Other permissions of the role on the same resource are taken away.",
			Attributes: map[string]schema.Attribute{
				"cluster_id":  plain.Cluster(),
				"role":        plain.Anew("Name of the role."),
				"resource":    plain.Anew("`data` (all keyspaces), `data/shop`, `data/shop/orders`, `roles/…`, `functions/…`."),
				"permissions": schema.SetAttribute{Required: true, ElementType: types.StringType, MarkdownDescription: "`SELECT`, `MODIFY`, `CREATE`, `ALTER`, `DROP` …"},
			},
		},
		Import: []string{"cluster_id", "role", "resource"},
		Create: func(ctx context.Context, c *client.Client, m *model) (string, error) {
			return grant(ctx, c, m, plain.Texts(m.Permissions))
		},
		Read: func(ctx context.Context, c *client.Client, m *model) error {
			found, err := held(ctx, c, m)
			if err == nil && len(found) == 0 {
				err = client.NotThere("permission of " + m.Role.ValueString() + " on " + m.Resource.ValueString())
			}
			m.Permissions = plain.TextSet(found)
			return err
		},
		Update: func(ctx context.Context, c *client.Client, m *model, _ model) (string, error) {
			now, err := held(ctx, c, m)
			if err != nil {
				return "", err
			}
			wanted := plain.Texts(m.Permissions)
			more, less := beside(wanted, now), beside(now, wanted)
			if len(less) > 0 && len(more) > 0 {
				if operation, err := revoke(ctx, c, m, less); err != nil {
					return operation, err
				} else if err := c.Wait(ctx, operation, func(client.Operation) {}); err != nil {
					return "", err
				}
			}
			if len(more) > 0 {
				return grant(ctx, c, m, more)
			}
			return revoke(ctx, c, m, less)
		},
		Delete: func(ctx context.Context, c *client.Client, m *model) (string, error) {
			return revoke(ctx, c, m, plain.Texts(m.Permissions))
		},
	}.Resource()
}

func path(m *model) string {
	return cqlrole.Path(m.ClusterID.ValueString(), m.Role.ValueString(), "grants")
}

func held(ctx context.Context, c *client.Client, m *model) ([]string, error) {
	role, err := cqlrole.Find(ctx, c, m.ClusterID.ValueString(), m.Role.ValueString())
	found := []string{}
	for _, one := range role.Permissions {
		if one.Resource == m.Resource.ValueString() {
			found = append(found, one.Permission)
		}
	}
	return found, err
}

func grant(ctx context.Context, c *client.Client, m *model, permissions []string) (string, error) {
	var begun plain.Begun
	body := map[string]any{"resource": m.Resource.ValueString(), "permissions": permissions}
	err := plain.Patiently(ctx, func() error { return c.Post(ctx, path(m), body, &begun) })
	return begun.Operation.ID, err
}

func revoke(ctx context.Context, c *client.Client, m *model, permissions []string) (string, error) {
	if len(permissions) == 0 {
		return "", nil
	}
	var begun plain.Begun
	query := url.Values{"resource": {m.Resource.ValueString()}, "permissions": permissions}
	err := plain.Patiently(ctx, func() error { return c.Delete(ctx, path(m)+"?"+query.Encode(), nil, &begun) })
	return begun.Operation.ID, err
}

// beside are those of the first that are not in the second.
func beside(of, others []string) []string {
	return slices.DeleteFunc(slices.Clone(of), func(one string) bool { return slices.Contains(others, one) })
}
