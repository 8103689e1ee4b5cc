package cluster

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/objectplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"ringmaster/terraform-provider/plain"
)

const about = "A database cluster. Everything is changed in place, or refused when it is planned with the server's reason: nothing ever makes a " +
	"cluster anew, because its data would be lost.\n\n" +
	"`termination_protection` is on unless the configuration says otherwise. To destroy a cluster, set it to false and apply, then destroy."

func (r *cluster) Schema(_ context.Context, _ resource.SchemaRequest, response *resource.SchemaResponse) {
	kept := []planmodifier.String{stringplanmodifier.UseStateForUnknown()}
	response.Schema = schema.Schema{
		MarkdownDescription: about,
		Attributes: map[string]schema.Attribute{
			"id":   plain.ID("clu"),
			"name": schema.StringAttribute{Required: true, MarkdownDescription: "1 to 48 lower-case letters, digits and hyphens. A new name reaches nodes and certificates that come later only."},
			"engine": schema.StringAttribute{
				Required: true, MarkdownDescription: "`cassandra` or `scylla`. Stays as it was ordered.",
			},
			"engine_version": schema.StringAttribute{
				Optional: true, Computed: true, PlanModifiers: kept,
				MarkdownDescription: "From the catalogue; left out: the engine's default at the order, and what it is upgraded to elsewhere. Another one upgrades, node by node.",
			},
			"cloud": schema.StringAttribute{
				Required: true, MarkdownDescription: "The provider of machines: `aws`, `gcp` or `local`. Stays as it was ordered.",
			},
			"cloud_account": schema.StringAttribute{
				Optional: true, MarkdownDescription: "Id of the cloud account in which it is made; left out: the installation's own. Stays as it was ordered.",
			},
			"datacenters": schema.ListNestedAttribute{
				Required:            true,
				MarkdownDescription: "One for each region. The first one is ordered, others are added and filled from it; one that is left out is emptied and removed when the others have its data.",
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"region": schema.StringAttribute{Required: true, MarkdownDescription: "By which it is known again."},
					"zones": schema.SetAttribute{
						Required: true, ElementType: types.StringType,
						MarkdownDescription: "Each holds one replica of every row. Stay as they were ordered.",
					},
					"machine_type": schema.StringAttribute{
						Required: true, MarkdownDescription: "Another one moves the nodes, one after another.",
					},
					"nodes_per_zone": schema.Int64Attribute{Required: true, MarkdownDescription: "1 to 30. Nodes join and leave one at a time."},
				}},
			},
			"settings": schema.DynamicAttribute{
				Optional:            true,
				MarkdownDescription: "Engine settings that differ from the engine's own values, an object by name: `{ concurrent_reads = 64 }`. Running engines take them where they can; else nodes are restarted one by one.",
			},
			"tags": schema.MapAttribute{
				Optional: true, ElementType: types.StringType, MarkdownDescription: "Your own labels; costs are reported by them.",
			},
			"image_build": schema.StringAttribute{
				Optional: true, MarkdownDescription: "Build of machine images that new machines of it are made from; left out: the default.",
			},
			"termination_protection": schema.BoolAttribute{
				Optional: true, Computed: true, Default: booldefault.StaticBool(true), MarkdownDescription: "While on, nobody can delete it. Default: true.",
			},
			"healing": schema.SingleNestedAttribute{
				Optional: true, Computed: true, PlanModifiers: []planmodifier.Object{objectplanmodifier.UseStateForUnknown()},
				MarkdownDescription: "What is done when a node is broken.",
				Attributes: map[string]schema.Attribute{
					"mode":                 schema.StringAttribute{Optional: true, Computed: true, PlanModifiers: kept, MarkdownDescription: "`act`: nodes are mended; `tell`: it is only told."},
					"grace_seconds":        number("Seconds a machine must be dead before its node is replaced, 10 to 86,400."),
					"replacements_per_day": number("At most so many nodes are replaced by itself in 24 hours, 0 to 100."),
				},
			},
			"maintenance_windows": schema.ListNestedAttribute{
				Optional:            true,
				MarkdownDescription: "When automatic work that can wait may be done; left out: at any time.",
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"weekdays": schema.SetAttribute{
						Required: true, ElementType: types.StringType, MarkdownDescription: "On which it begins: `monday` … `sunday`.",
					},
					"starts_at": schema.StringAttribute{Required: true, MarkdownDescription: "Wall-clock time, `HH:MM`."},
					"minutes":   schema.Int64Attribute{Required: true, MarkdownDescription: "15 to 10,080."},
					"time_zone": schema.StringAttribute{Required: true, MarkdownDescription: "`Europe/Vienna`"},
					"excluded_dates": schema.SetAttribute{
						Optional: true, ElementType: types.StringType, MarkdownDescription: "`YYYY-MM-DD`, on which it does not begin.",
					},
				}},
			},
			"state":      schema.StringAttribute{Computed: true, PlanModifiers: kept, MarkdownDescription: "`active` once it can be used."},
			"created_at": schema.StringAttribute{Computed: true, PlanModifiers: kept, MarkdownDescription: "When it was ordered, UTC."},
		},
	}
}

func number(description string) schema.Int64Attribute {
	return schema.Int64Attribute{
		Optional: true, Computed: true, MarkdownDescription: description,
		PlanModifiers: []planmodifier.Int64{int64planmodifier.UseStateForUnknown()},
	}
}
