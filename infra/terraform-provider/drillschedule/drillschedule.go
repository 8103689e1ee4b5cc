// Package drillschedule is the resource ringmaster_drill_schedule.
package drillschedule

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"ringmaster/terraform-provider/client"
	"ringmaster/terraform-provider/plain"
)

type model struct {
	ClusterID       types.String `tfsdk:"cluster_id"`
	Cron            types.String `tfsdk:"cron"`
	IntervalMinutes types.Int64  `tfsdk:"interval_minutes"`
	TimeZone        types.String `tfsdk:"time_zone"`
	Keyspaces       types.Set    `tfsdk:"keyspaces"`
	Shape           types.String `tfsdk:"shape"`
	CompareLive     types.Bool   `tfsdk:"compare_live"`
	Enabled         types.Bool   `tfsdk:"enabled"`
}

type document struct {
	Cron            *string        `json:"cron"`
	IntervalMinutes *int64         `json:"interval_minutes"`
	TimeZone        string         `json:"time_zone"`
	Selection       []plain.Choice `json:"selection"`
	Shape           string         `json:"shape"`
	CompareLive     bool           `json:"compare_live"`
	Enabled         bool           `json:"enabled"`
}

// New makes the resource.
func New() resource.Resource {
	return plain.Kind[model]{
		Name: "drill_schedule",
		Schema: schema.Schema{
			MarkdownDescription: "When the newest complete backup of a cluster is restored for a trial, into a cluster that is made for it and removed. Each costs the machines of that cluster for as long as it takes.",
			Attributes: map[string]schema.Attribute{
				"cluster_id":       plain.Cluster(),
				"cron":             schema.StringAttribute{Optional: true, MarkdownDescription: "`30 2 * * 0`: minute, hour, day of the month, month, day of the week. Or an interval."},
				"interval_minutes": schema.Int64Attribute{Optional: true, MarkdownDescription: "60 to 527,040. Or cron."},
				"time_zone":        schema.StringAttribute{Optional: true, Computed: true, Default: stringdefault.StaticString("UTC"), MarkdownDescription: "Of cron: `Europe/Vienna`."},
				"keyspaces":        schema.SetAttribute{Optional: true, ElementType: types.StringType, MarkdownDescription: "`shop`, or a table of it: `shop.orders`. Left out: all that is in the backup."},
				"shape":            schema.StringAttribute{Optional: true, Computed: true, Default: stringdefault.StaticString("zones"), MarkdownDescription: "`zones`: one node in each zone of the cluster; `one`: one node. Default: `zones`."},
				"compare_live":     schema.BoolAttribute{Optional: true, Computed: true, Default: booldefault.StaticBool(true), MarkdownDescription: "The cluster's own tables are read, too, and compared. Default: true."},
				"enabled":          schema.BoolAttribute{Optional: true, Computed: true, Default: booldefault.StaticBool(true), MarkdownDescription: "Default: true."},
			},
		},
		Import: []string{"cluster_id"},
		Create: func(ctx context.Context, c *client.Client, m *model) (string, error) { return "", m.set(ctx, c) },
		Read: func(ctx context.Context, c *client.Client, m *model) error {
			var now struct {
				Schedule *document `json:"schedule"`
			}
			if err := c.Get(ctx, client.Path("clusters", m.ClusterID.ValueString(), "drills", "overview"), &now); err != nil {
				return err
			}
			if now.Schedule == nil {
				return client.NotThere("schedule of drills")
			}
			m.take(*now.Schedule)
			return nil
		},
		Update: func(ctx context.Context, c *client.Client, m *model, _ model) (string, error) {
			return "", m.set(ctx, c)
		},
		Delete: func(ctx context.Context, c *client.Client, m *model) (string, error) {
			return "", c.Delete(ctx, path(m), nil, nil)
		},
	}.Resource()
}

func path(m *model) string {
	return client.Path("clusters", m.ClusterID.ValueString(), "drill-schedule")
}

func (m *model) set(ctx context.Context, c *client.Client) error {
	return c.Put(ctx, path(m), document{
		Cron: plain.Text(m.Cron), IntervalMinutes: plain.Number(m.IntervalMinutes), TimeZone: m.TimeZone.ValueString(), Selection: plain.Choices(m.Keyspaces),
		Shape: m.Shape.ValueString(), CompareLive: m.CompareLive.ValueBool(), Enabled: m.Enabled.ValueBool(),
	}, nil)
}

func (m *model) take(of document) {
	m.Cron, m.IntervalMinutes, m.TimeZone = types.StringPointerValue(of.Cron), types.Int64PointerValue(of.IntervalMinutes), types.StringValue(of.TimeZone)
	m.Keyspaces, m.Shape = plain.ChoiceSet(of.Selection), types.StringValue(of.Shape)
	m.CompareLive, m.Enabled = types.BoolValue(of.CompareLive), types.BoolValue(of.Enabled)
}
