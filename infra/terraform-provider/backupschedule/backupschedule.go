// Package backupschedule is the resource ringmaster_backup_schedule.
package backupschedule

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64default"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"ringmaster/terraform-provider/client"
	"ringmaster/terraform-provider/plain"
)

type model struct {
	ID                    types.String `tfsdk:"id"`
	ClusterID             types.String `tfsdk:"cluster_id"`
	Name                  types.String `tfsdk:"name"`
	Cron                  types.String `tfsdk:"cron"`
	IntervalMinutes       types.Int64  `tfsdk:"interval_minutes"`
	TimeZone              types.String `tfsdk:"time_zone"`
	Keyspaces             types.Set    `tfsdk:"keyspaces"`
	LocationID            types.String `tfsdk:"location_id"`
	SecondLocationID      types.String `tfsdk:"second_location_id"`
	KeepDays              types.Int64  `tfsdk:"keep_days"`
	KeepCount             types.Int64  `tfsdk:"keep_count"`
	KeepAfterDeletionDays types.Int64  `tfsdk:"keep_after_deletion_days"`
	LockDays              types.Int64  `tfsdk:"lock_days"`
	RateMiBPerSecond      types.Int64  `tfsdk:"rate_mib_per_second"`
	Enabled               types.Bool   `tfsdk:"enabled"`
}

// document is what the API takes and, with an id, gives.
type document struct {
	ID                    string         `json:"id,omitempty"`
	Name                  string         `json:"name"`
	Cron                  *string        `json:"cron"`
	IntervalMinutes       *int64         `json:"interval_minutes"`
	TimeZone              string         `json:"time_zone"`
	Selection             []plain.Choice `json:"selection"`
	LocationID            *string        `json:"location_id"`
	SecondLocationID      *string        `json:"second_location_id"`
	KeepDays              *int64         `json:"keep_days"`
	KeepCount             *int64         `json:"keep_count"`
	KeepAfterDeletionDays int64          `json:"keep_after_deletion_days"`
	LockDays              *int64         `json:"lock_days"`
	RateMiBPerSecond      *int64         `json:"rate_mib_per_second"`
	Enabled               bool           `json:"enabled"`
}

// New makes the resource.
func New() resource.Resource {
	number := func(description string) schema.Int64Attribute {
		return schema.Int64Attribute{Optional: true, MarkdownDescription: description}
	}
	return plain.Kind[model]{
		Name: "backup_schedule",
		Schema: schema.Schema{
			MarkdownDescription: "When backups of a cluster are made and how long they are kept. Without it there are no further ones; those that are made stay as long as it said.",
			Attributes: map[string]schema.Attribute{
				"id":               plain.ID("bsc"),
				"cluster_id":       plain.Cluster(),
				"name":             schema.StringAttribute{Required: true, MarkdownDescription: "For people."},
				"cron":             schema.StringAttribute{Optional: true, MarkdownDescription: "`30 2 * * *`: minute, hour, day of the month, month, day of the week. Or an interval."},
				"interval_minutes": number("15 to 527,040. Or cron."),
				"time_zone":        schema.StringAttribute{Optional: true, Computed: true, Default: stringdefault.StaticString("UTC"), MarkdownDescription: "Of cron: `Europe/Vienna`."},
				"keyspaces":        schema.SetAttribute{Optional: true, ElementType: types.StringType, MarkdownDescription: "`shop`, or a table of it: `shop.orders`. Left out: all tables that are not the engine's own."},
				"location_id": schema.StringAttribute{
					Optional: true, Computed: true, PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()}, MarkdownDescription: "Left out: the installation's.",
				},
				"second_location_id":       schema.StringAttribute{Optional: true, MarkdownDescription: "Complete backups are copied there."},
				"keep_days":                number("Older backups go."),
				"keep_count":               number("So many complete ones stay."),
				"keep_after_deletion_days": schema.Int64Attribute{Optional: true, Computed: true, Default: int64default.StaticInt64(30), MarkdownDescription: "After the cluster was deleted its backups stay so long. Default: 30."},
				"lock_days":                number("Nobody may delete a backup before."),
				"rate_mib_per_second":      number("Of each node; left out: as fast as it goes."),
				"enabled":                  schema.BoolAttribute{Optional: true, Computed: true, Default: booldefault.StaticBool(true), MarkdownDescription: "Default: true."},
			},
		},
		Import: []string{"cluster_id", "id"},
		Create: func(ctx context.Context, c *client.Client, m *model) (string, error) {
			var made document
			err := c.Post(ctx, path(m), m.document(), &made)
			m.take(made)
			return "", err
		},
		Read: func(ctx context.Context, c *client.Client, m *model) error {
			var all struct {
				Items []document `json:"items"`
			}
			if err := c.Get(ctx, path(m), &all); err != nil {
				return err
			}
			for _, one := range all.Items {
				if one.ID == m.ID.ValueString() {
					m.take(one)
					return nil
				}
			}
			return client.NotThere("schedule " + m.ID.ValueString())
		},
		Update: func(ctx context.Context, c *client.Client, m *model, _ model) (string, error) {
			return "", c.Put(ctx, path(m, m.ID.ValueString()), m.document(), nil)
		},
		Delete: func(ctx context.Context, c *client.Client, m *model) (string, error) {
			return "", c.Delete(ctx, path(m, m.ID.ValueString()), nil, nil)
		},
	}.Resource()
}

func path(m *model, words ...string) string {
	return client.Path(append([]string{"clusters", m.ClusterID.ValueString(), "backup-schedules"}, words...)...)
}

func (m *model) document() document {
	return document{
		Name: m.Name.ValueString(), Cron: plain.Text(m.Cron), IntervalMinutes: plain.Number(m.IntervalMinutes), TimeZone: m.TimeZone.ValueString(),
		LocationID: plain.Text(m.LocationID), SecondLocationID: plain.Text(m.SecondLocationID), KeepDays: plain.Number(m.KeepDays),
		KeepCount: plain.Number(m.KeepCount), KeepAfterDeletionDays: m.KeepAfterDeletionDays.ValueInt64(), LockDays: plain.Number(m.LockDays),
		RateMiBPerSecond: plain.Number(m.RateMiBPerSecond), Enabled: m.Enabled.ValueBool(), Selection: plain.Choices(m.Keyspaces),
	}
}

func (m *model) take(of document) {
	m.ID, m.Name, m.Cron, m.TimeZone = types.StringValue(of.ID), types.StringValue(of.Name), types.StringPointerValue(of.Cron), types.StringValue(of.TimeZone)
	m.IntervalMinutes, m.Keyspaces = types.Int64PointerValue(of.IntervalMinutes), plain.ChoiceSet(of.Selection)
	m.LocationID, m.SecondLocationID = types.StringPointerValue(of.LocationID), types.StringPointerValue(of.SecondLocationID)
	m.KeepDays, m.KeepCount = types.Int64PointerValue(of.KeepDays), types.Int64PointerValue(of.KeepCount)
	m.KeepAfterDeletionDays, m.LockDays = types.Int64Value(of.KeepAfterDeletionDays), types.Int64PointerValue(of.LockDays)
	m.RateMiBPerSecond, m.Enabled = types.Int64PointerValue(of.RateMiBPerSecond), types.BoolValue(of.Enabled)
}
