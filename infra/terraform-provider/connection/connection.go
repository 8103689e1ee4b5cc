// Package connection is the data source ringmaster_connection, and the ephemeral resource of that name, which has a password, too.
package connection

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"ringmaster/terraform-provider/client"
	"ringmaster/terraform-provider/plain"
)

type model struct {
	ClusterID     types.String `tfsdk:"cluster_id"`
	ContactPoints []string     `tfsdk:"contact_points"`
	Port          types.Int64  `tfsdk:"port"`
	Datacenter    types.String `tfsdk:"datacenter"`
	Username      types.String `tfsdk:"username"`
	TLS           types.Bool   `tfsdk:"tls"`
	CACertificate types.String `tfsdk:"ca_certificate"`
}

type document struct {
	ContactPoints []string `json:"contact_points"`
	Port          int64    `json:"port"`
	Datacenter    string   `json:"datacenter"`
	Username      string   `json:"username"`
	TLS           bool     `json:"tls"`
	CACertificate string   `json:"ca_certificate"`
}

func look(ctx context.Context, c *client.Client, cluster string) (now document, err error) {
	err = c.Get(ctx, client.Path("clusters", cluster, "connection"), &now)
	return now, err
}

// New makes the data source.
func New() datasource.DataSource {
	return plain.Data[model]{
		Name: "connection",
		Schema: schema.Schema{
			MarkdownDescription: "What a driver needs to reach a cluster, but for the password, which is revealed once, in the console or by `reveal_credentials`.",
			Attributes: map[string]schema.Attribute{
				"cluster_id":     schema.StringAttribute{Required: true, MarkdownDescription: "`clu_…`"},
				"contact_points": schema.ListAttribute{Computed: true, ElementType: types.StringType, MarkdownDescription: "Addresses of nodes."},
				"port":           schema.Int64Attribute{Computed: true, MarkdownDescription: "Of CQL."},
				"datacenter":     schema.StringAttribute{Computed: true, MarkdownDescription: "What drivers call the local data centre."},
				"username":       schema.StringAttribute{Computed: true, MarkdownDescription: "The administrator."},
				"tls":            schema.BoolAttribute{Computed: true, MarkdownDescription: "Whether clients speak TLS."},
				"ca_certificate": schema.StringAttribute{Computed: true, MarkdownDescription: "PEM of the cluster's own authority."},
			},
		},
		Read: func(ctx context.Context, c *client.Client, m *model) error {
			now, err := look(ctx, c, m.ClusterID.ValueString())
			if err != nil {
				return err
			}
			m.ContactPoints, m.Port, m.Datacenter = now.ContactPoints, types.Int64Value(now.Port), types.StringValue(now.Datacenter)
			m.Username, m.TLS, m.CACertificate = types.StringValue(now.Username), types.BoolValue(now.TLS), types.StringValue(now.CACertificate)
			return nil
		},
	}.DataSource()
}
