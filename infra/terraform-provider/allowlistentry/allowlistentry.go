// Package allowlistentry is the resource ringmaster_allowlist_entry.
package allowlistentry

import (
	"context"
	"net/netip"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"ringmaster/terraform-provider/client"
	"ringmaster/terraform-provider/plain"
)

type model struct {
	ClusterID   types.String `tfsdk:"cluster_id"`
	CIDR        types.String `tfsdk:"cidr"`
	Description types.String `tfsdk:"description"`
}

type entry struct {
	CIDR        string `json:"cidr"`
	Description string `json:"description"`
}

type list struct {
	Entries []entry `json:"entries"`
}

// New makes the resource.
func New() resource.Resource {
	return plain.Kind[model]{
		Name: "allowlist_entry",
		Schema: schema.Schema{
			MarkdownDescription: "Addresses from which a cluster may be reached. Without entries it is reached from everywhere; where networks have a firewall, from within its network only.",
			Attributes: map[string]schema.Attribute{
				"cluster_id":  plain.Cluster(),
				"cidr":        plain.Anew("`10.0.0.0/8`, `192.0.2.7/32`, `2001:db8::/32`."),
				"description": schema.StringAttribute{Optional: true, Computed: true, Default: stringdefault.StaticString(""), MarkdownDescription: "For people."},
			},
		},
		Import: []string{"cluster_id", "cidr"},
		Create: func(ctx context.Context, c *client.Client, m *model) (string, error) {
			return write(ctx, c, m)
		},
		Read: func(ctx context.Context, c *client.Client, m *model) error {
			var now list
			if err := c.Get(ctx, path(m), &now); err != nil {
				return err
			}
			for _, one := range now.Entries {
				if same(one.CIDR, m.CIDR.ValueString()) {
					m.Description = types.StringValue(one.Description)
					return nil
				}
			}
			return client.NotThere("entry " + m.CIDR.ValueString())
		},
		Update: func(ctx context.Context, c *client.Client, m *model, _ model) (string, error) {
			return write(ctx, c, m)
		},
		Delete: func(ctx context.Context, c *client.Client, m *model) (string, error) {
			return change(ctx, c, m, func(of []entry) []entry { return without(of, m) })
		},
	}.Resource()
}

func path(m *model) string { return client.Path("clusters", m.ClusterID.ValueString(), "allowlist") }

func write(ctx context.Context, c *client.Client, m *model) (string, error) {
	return change(ctx, c, m, func(of []entry) []entry {
		return append(without(of, m), entry{m.CIDR.ValueString(), m.Description.ValueString()})
	})
}

// change writes the whole list, as the API takes it: entries of one cluster take turns.
func change(ctx context.Context, c *client.Client, m *model, to func([]entry) []entry) (string, error) {
	defer c.Lock(path(m))()
	var begun plain.Begun
	err := plain.Patiently(ctx, func() error {
		var now list
		if err := c.Get(ctx, path(m), &now); err != nil {
			return err
		}
		return c.Put(ctx, path(m), list{to(slices.Clone(now.Entries))}, &begun)
	})
	return begun.Operation.ID, err
}

func without(of []entry, m *model) []entry {
	left := []entry{}
	for _, one := range of {
		if !same(one.CIDR, m.CIDR.ValueString()) {
			left = append(left, one)
		}
	}
	return left
}

// same tells whether two ways to write it name the same addresses.
func same(a, b string) bool {
	one, errOne := netip.ParsePrefix(a)
	other, errOther := netip.ParsePrefix(b)
	return a == b || (errOne == nil && errOther == nil && one.Masked() == other.Masked())
}
