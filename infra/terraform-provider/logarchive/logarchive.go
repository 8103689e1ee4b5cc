// Package logarchive is the resource ringmaster_log_archive.
package logarchive

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64default"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"ringmaster/terraform-provider/client"
	"ringmaster/terraform-provider/plain"
)

type model struct {
	ClusterID       types.String `tfsdk:"cluster_id"`
	Enabled         types.Bool   `tfsdk:"enabled"`
	KeepDays        types.Int64  `tfsdk:"keep_days"`
	IntervalSeconds types.Int64  `tfsdk:"interval_seconds"`
	LocationID      types.String `tfsdk:"location_id"`
}

type document struct {
	Enabled         bool    `json:"enabled"`
	KeepDays        *int64  `json:"keep_days"`
	IntervalSeconds *int64  `json:"interval_seconds"`
	LocationID      *string `json:"location_id"`
}

// New makes the resource.
func New() resource.Resource {
	return plain.Kind[model]{
		Name: "log_archive",
		Schema: schema.Schema{
			MarkdownDescription: "Commit logs of a cluster are stored as they are written, so that any moment between backups can be restored. Destroying it stores nothing more; what was stored stays as long as it can be used.",
			Attributes: map[string]schema.Attribute{
				"cluster_id":       plain.Cluster(),
				"enabled":          schema.BoolAttribute{Optional: true, Computed: true, Default: booldefault.StaticBool(true), MarkdownDescription: "Default: true."},
				"keep_days":        schema.Int64Attribute{Optional: true, Computed: true, Default: int64default.StaticInt64(7), MarkdownDescription: "So far back a moment can be restored, as far as backups are kept. Default: 7."},
				"interval_seconds": schema.Int64Attribute{Optional: true, Computed: true, Default: int64default.StaticInt64(60), MarkdownDescription: "How old a write becomes at most before it is stored, 10 to 600. Default: 60."},
				"location_id": schema.StringAttribute{
					Optional: true, Computed: true, PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()}, MarkdownDescription: "Left out: as before, or the installation's.",
				},
			},
		},
		Import: []string{"cluster_id"},
		Create: func(ctx context.Context, c *client.Client, m *model) (string, error) { return "", m.set(ctx, c) },
		Read: func(ctx context.Context, c *client.Client, m *model) error {
			var now document
			if err := c.Get(ctx, path(m), &now); err != nil {
				return err
			}
			if now.KeepDays == nil {
				return client.NotThere("archive of commit logs: it was never turned on")
			}
			m.take(now)
			return nil
		},
		Update: func(ctx context.Context, c *client.Client, m *model, _ model) (string, error) {
			return "", m.set(ctx, c)
		},
		Delete: func(ctx context.Context, c *client.Client, m *model) (string, error) {
			m.Enabled = types.BoolValue(false)
			return "", m.set(ctx, c)
		},
		Plan: func(_ context.Context, _ *client.Client, now, before *model, found *diag.Diagnostics) {
			if before != nil && before.Enabled.ValueBool() && (now == nil || !now.Enabled.IsUnknown() && !now.Enabled.ValueBool()) {
				found.AddWarning("Commit logs are archived no more", "From then on "+before.ClusterID.ValueString()+" can be restored as its backups are, and not to a moment between them.")
			}
		},
	}.Resource()
}

func path(m *model) string { return client.Path("clusters", m.ClusterID.ValueString(), "log-archive") }

func (m *model) set(ctx context.Context, c *client.Client) error {
	body := map[string]any{
		"enabled": m.Enabled.ValueBool(), "keep_days": m.KeepDays.ValueInt64(), "interval_seconds": m.IntervalSeconds.ValueInt64(), "location_id": plain.Text(m.LocationID),
	}
	var now document
	err := plain.Patiently(ctx, func() error { return c.Put(ctx, path(m), body, &now) })
	if err == nil {
		m.take(now)
	}
	return err
}

func (m *model) take(of document) {
	m.Enabled, m.LocationID = types.BoolValue(of.Enabled), types.StringPointerValue(of.LocationID)
	m.KeepDays, m.IntervalSeconds = types.Int64PointerValue(of.KeepDays), types.Int64PointerValue(of.IntervalSeconds)
}
