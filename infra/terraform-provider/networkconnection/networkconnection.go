// Package networkconnection is the resources ringmaster_vpc_peering and ringmaster_private_endpoint.
package networkconnection

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/setplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"ringmaster/terraform-provider/client"
	"ringmaster/terraform-provider/plain"
)

type peering struct {
	base
	PeerNetwork types.String `tfsdk:"peer_network"`
	PeerOwner   types.String `tfsdk:"peer_owner"`
	PeerRegion  types.String `tfsdk:"peer_region"`
	CIDRs       types.Set    `tfsdk:"cidrs"`
}

type endpoint struct {
	base
	Service   types.String `tfsdk:"service"`
	Addresses types.Set    `tfsdk:"addresses"`
}

// base is what both have.
type base struct {
	ID         types.String `tfsdk:"id"`
	ClusterID  types.String `tfsdk:"cluster_id"`
	Name       types.String `tfsdk:"name"`
	Datacenter types.String `tfsdk:"datacenter"`
	ProviderID types.String `tfsdk:"provider_id"`
	State      types.String `tfsdk:"state"`
}

type document struct {
	ID          string   `json:"id"`
	Name        string   `json:"name"`
	Datacenter  string   `json:"datacenter"`
	PeerNetwork string   `json:"peer_network"`
	PeerOwner   string   `json:"peer_owner"`
	PeerRegion  string   `json:"peer_region"`
	CIDRs       []string `json:"cidrs"`
	Service     string   `json:"service"`
	State       string   `json:"state"`
	ProviderID  *string  `json:"provider_id"`
	Addresses   []string `json:"addresses"`
	DeletedAt   *string  `json:"deleted_at"`
}

func attributes(more map[string]schema.Attribute) map[string]schema.Attribute {
	kept := []planmodifier.String{stringplanmodifier.UseStateForUnknown()}
	found := map[string]schema.Attribute{
		"id":          plain.ID("con"),
		"cluster_id":  plain.Cluster(),
		"name":        plain.Anew("Unique in the cluster."),
		"datacenter":  another("Of the cluster; left out: the only one."),
		"provider_id": schema.StringAttribute{Computed: true, PlanModifiers: kept, MarkdownDescription: "As the cloud calls it."},
		"state":       schema.StringAttribute{Computed: true, PlanModifiers: kept, MarkdownDescription: "Whether the other side has accepted it, too."},
	}
	for name, one := range more {
		found[name] = one
	}
	return found
}

func another(description string) schema.StringAttribute {
	return schema.StringAttribute{
		Optional: true, Computed: true, MarkdownDescription: description + " Another one makes it anew.",
		PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown(), stringplanmodifier.RequiresReplaceIfConfigured()},
	}
}

// NewPeering makes the resource ringmaster_vpc_peering.
func NewPeering() resource.Resource {
	take := func(m *peering, of document) {
		m.take(of)
		m.PeerNetwork, m.PeerOwner, m.PeerRegion = types.StringValue(of.PeerNetwork), types.StringValue(of.PeerOwner), types.StringValue(of.PeerRegion)
		m.CIDRs = plain.TextSet(of.CIDRs)
	}
	return plain.Kind[peering]{
		Name: "vpc_peering",
		Schema: schema.Schema{
			MarkdownDescription: "The network of a data centre and one of yours reach each other. Their addresses must not overlap; the other side accepts it.",
			Attributes: attributes(map[string]schema.Attribute{
				"peer_network": plain.Anew("AWS: id of the VPC. Google Cloud: name of the VPC network."),
				"peer_owner":   another("AWS account or Google Cloud project of it; left out: the cluster's own."),
				"peer_region":  another("AWS: its region; left out: that of the data centre."),
				"cidrs": schema.SetAttribute{
					Required: true, ElementType: types.StringType, PlanModifiers: []planmodifier.Set{setplanmodifier.RequiresReplace()},
					MarkdownDescription: "From where clients come through it. Others make it anew.",
				},
			}),
		},
		Import: []string{"cluster_id", "id"},
		Create: func(ctx context.Context, c *client.Client, m *peering) (string, error) {
			made, operation, err := create(ctx, c, m.base, "peering", map[string]any{
				"peer_network": m.PeerNetwork.ValueString(), "peer_owner": m.PeerOwner.ValueString(),
				"peer_region": m.PeerRegion.ValueString(), "cidrs": plain.Texts(m.CIDRs),
			})
			take(m, made)
			return operation, err
		},
		Read: func(ctx context.Context, c *client.Client, m *peering) error {
			now, err := read(ctx, c, m.base)
			if err == nil {
				take(m, now)
			}
			return err
		},
		Delete: func(ctx context.Context, c *client.Client, m *peering) (string, error) { return remove(ctx, c, m.base) },
	}.Resource()
}

// NewEndpoint makes the resource ringmaster_private_endpoint.
func NewEndpoint() resource.Resource {
	take := func(m *endpoint, of document) {
		m.take(of)
		m.Service, m.Addresses = types.StringValue(of.Service), plain.TextSet(of.Addresses)
	}
	return plain.Kind[endpoint]{
		Name: "private_endpoint",
		Schema: schema.Schema{
			MarkdownDescription: "An endpoint in the network of a data centre for a service that somebody publishes, in the same region.",
			Attributes: attributes(map[string]schema.Attribute{
				"service":   plain.Anew("AWS: `com.amazonaws.vpce.REGION.vpce-svc-…`. Google Cloud: `projects/PROJECT/regions/REGION/serviceAttachments/NAME`."),
				"addresses": schema.SetAttribute{Computed: true, ElementType: types.StringType, PlanModifiers: []planmodifier.Set{setplanmodifier.UseStateForUnknown()}, MarkdownDescription: "At which the service is reached."},
			}),
		},
		Import: []string{"cluster_id", "id"},
		Create: func(ctx context.Context, c *client.Client, m *endpoint) (string, error) {
			made, operation, err := create(ctx, c, m.base, "endpoint", map[string]any{"service": m.Service.ValueString()})
			take(m, made)
			return operation, err
		},
		Read: func(ctx context.Context, c *client.Client, m *endpoint) error {
			now, err := read(ctx, c, m.base)
			if err == nil {
				take(m, now)
			}
			return err
		},
		Delete: func(ctx context.Context, c *client.Client, m *endpoint) (string, error) {
			return remove(ctx, c, m.base)
		},
	}.Resource()
}

func path(of base, words ...string) string {
	return client.Path(append([]string{"clusters", of.ClusterID.ValueString(), "network-connections"}, words...)...)
}

func create(ctx context.Context, c *client.Client, of base, kind string, body map[string]any) (document, string, error) {
	body["kind"], body["name"], body["datacenter"] = kind, of.Name.ValueString(), plain.Text(of.Datacenter)
	var begun struct {
		Connection document         `json:"connection"`
		Operation  client.Operation `json:"operation"`
	}
	err := plain.Patiently(ctx, func() error { return c.Post(ctx, path(of), body, &begun) })
	return begun.Connection, begun.Operation.ID, err
}

func read(ctx context.Context, c *client.Client, of base) (document, error) {
	var now document
	err := c.Get(ctx, path(of, of.ID.ValueString()), &now)
	if err == nil && now.DeletedAt != nil {
		err = client.NotThere("connection " + now.Name)
	}
	return now, err
}

func remove(ctx context.Context, c *client.Client, of base) (string, error) {
	var begun plain.Begun
	err := plain.Patiently(ctx, func() error { return c.Delete(ctx, path(of, of.ID.ValueString()), nil, &begun) })
	return begun.Operation.ID, err
}

func (b *base) take(of document) {
	b.ID, b.Name, b.Datacenter = types.StringValue(of.ID), types.StringValue(of.Name), types.StringValue(of.Datacenter)
	b.State, b.ProviderID = types.StringValue(of.State), types.StringPointerValue(of.ProviderID)
}
