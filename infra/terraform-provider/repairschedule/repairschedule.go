// Package repairschedule is the resource ringmaster_repair_schedule.
package repairschedule

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"ringmaster/terraform-provider/client"
	"ringmaster/terraform-provider/plain"
)

type model struct {
	ClusterID   types.String `tfsdk:"cluster_id"`
	Enabled     types.Bool   `tfsdk:"enabled"`
	EveryHours  types.Int64  `tfsdk:"every_hours"`
	Intensity   types.Int64  `tfsdk:"intensity"`
	Parallelism types.Int64  `tfsdk:"parallelism"`
}

type document struct {
	Enabled     *bool  `json:"enabled,omitempty"`
	EveryHours  *int64 `json:"every_hours,omitempty"`
	Intensity   *int64 `json:"intensity,omitempty"`
	Parallelism *int64 `json:"parallelism,omitempty"`
}

// New makes the resource.
func New() resource.Resource {
	number := func(description string) schema.Int64Attribute {
		return schema.Int64Attribute{
			Optional: true, Computed: true, MarkdownDescription: description, PlanModifiers: []planmodifier.Int64{int64planmodifier.UseStateForUnknown()},
		}
	}
	return plain.Kind[model]{
		Name: "repair_schedule",
		Schema: schema.Schema{
			MarkdownDescription: "How a cluster is repaired. Every cluster has one from its order on; this keeps it as the configuration says, and leaves it as it is when it is removed from it.",
			Attributes: map[string]schema.Attribute{
				"cluster_id":  plain.Cluster(),
				"enabled":     schema.BoolAttribute{Optional: true, Computed: true, Default: booldefault.StaticBool(true), MarkdownDescription: "Default: true."},
				"every_hours": number("Hours from one run's begin to the next's, 1 to 672."),
				"intensity":   number("Share of its time, in percent, that a node may work for repairs."),
				"parallelism": number("Segments at once; 0: as many as the ring allows."),
			},
		},
		Import: []string{"cluster_id"},
		Create: func(ctx context.Context, c *client.Client, m *model) (string, error) { return "", set(ctx, c, m) },
		Read: func(ctx context.Context, c *client.Client, m *model) error {
			var now struct {
				Schedule *document `json:"schedule"`
			}
			if err := c.Get(ctx, client.Path("clusters", m.ClusterID.ValueString(), "repairs"), &now); err != nil {
				return err
			}
			if now.Schedule == nil {
				return client.NotThere("repair schedule")
			}
			m.take(*now.Schedule)
			return nil
		},
		Update: func(ctx context.Context, c *client.Client, m *model, _ model) (string, error) {
			return "", set(ctx, c, m)
		},
		Delete: func(context.Context, *client.Client, *model) (string, error) { return "", nil },
	}.Resource()
}

func set(ctx context.Context, c *client.Client, m *model) error {
	var now document
	wish := document{Enabled: m.Enabled.ValueBoolPointer(), EveryHours: plain.Number(m.EveryHours), Intensity: plain.Number(m.Intensity), Parallelism: plain.Number(m.Parallelism)}
	err := c.Patch(ctx, client.Path("clusters", m.ClusterID.ValueString(), "repairs", "schedule"), wish, &now)
	if err == nil {
		m.take(now)
	}
	return err
}

func (m *model) take(of document) {
	m.Enabled, m.EveryHours = types.BoolPointerValue(of.Enabled), types.Int64PointerValue(of.EveryHours)
	m.Intensity, m.Parallelism = types.Int64PointerValue(of.Intensity), types.Int64PointerValue(of.Parallelism)
}
