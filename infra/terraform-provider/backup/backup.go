// Package backup is the resource ringmaster_backup.
package backup

import (
	"context"
	"math"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/setplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"ringmaster/terraform-provider/client"
	"ringmaster/terraform-provider/plain"
)

type model struct {
	ID                 types.String `tfsdk:"id"`
	ClusterID          types.String `tfsdk:"cluster_id"`
	Keyspaces          types.Set    `tfsdk:"keyspaces"`
	LocationID         types.String `tfsdk:"location_id"`
	KeepDays           types.Int64  `tfsdk:"keep_days"`
	LockDays           types.Int64  `tfsdk:"lock_days"`
	RateMiBPerSecond   types.Int64  `tfsdk:"rate_mib_per_second"`
	DeletionProtection types.Bool   `tfsdk:"deletion_protection"`
	State              types.String `tfsdk:"state"`
	TakenAt            types.String `tfsdk:"taken_at"`
	Bytes              types.Int64  `tfsdk:"bytes"`
	ExpiresAt          types.String `tfsdk:"expires_at"`
	LockedUntil        types.String `tfsdk:"locked_until"`
	OperationID        types.String `tfsdk:"operation_id"`
}

type document struct {
	ID          string         `json:"id"`
	ClusterID   string         `json:"cluster_id"`
	LocationID  string         `json:"location_id"`
	ScheduleID  *string        `json:"schedule_id"`
	State       string         `json:"state"`
	Selection   []plain.Choice `json:"selection"`
	TakenAt     *string        `json:"taken_at"`
	Bytes       int64          `json:"bytes"`
	ExpiresAt   *time.Time     `json:"expires_at"`
	LockedUntil *time.Time     `json:"locked_until"`
	CreatedAt   time.Time      `json:"created_at"`
	OperationID *string        `json:"operation_id"`
}

const running, deleted = "running", "deleted"

// New makes the resource.
func New() resource.Resource {
	number := func(description string) schema.Int64Attribute {
		return schema.Int64Attribute{
			Optional: true, Computed: true, MarkdownDescription: description, PlanModifiers: []planmodifier.Int64{int64planmodifier.UseStateForUnknown()},
		}
	}
	return plain.Kind[model]{
		Name: "backup",
		Schema: schema.Schema{
			MarkdownDescription: "A backup that is made once, when it is applied. Regular ones are made by `ringmaster_backup_schedule`. It outlives its cluster, is never made anew, and stays as it was ordered.",
			Attributes: map[string]schema.Attribute{
				"id":         plain.ID("bkp"),
				"cluster_id": schema.StringAttribute{Required: true, MarkdownDescription: "Id of the cluster, `clu_…`. Stays as it was ordered."},
				"keyspaces": schema.SetAttribute{
					Optional: true, Computed: true, ElementType: types.StringType, PlanModifiers: []planmodifier.Set{setplanmodifier.UseStateForUnknown()},
					MarkdownDescription: "`shop`, or a table of it: `shop.orders`. Left out: all tables that are not the engine's own. Stay as they were ordered.",
				},
				"location_id": schema.StringAttribute{
					Optional: true, Computed: true, PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()},
					MarkdownDescription: "Left out: the installation's. Stays as it was ordered.",
				},
				"keep_days":           number("It goes by itself after so many days; left out: when somebody deletes it. Stays as it was ordered."),
				"lock_days":           number("Nobody may delete it before. Stays as it was ordered."),
				"rate_mib_per_second": schema.Int64Attribute{Optional: true, MarkdownDescription: "Of each node, while it is made; left out: as fast as it goes."},
				"deletion_protection": plain.Protection("the backup"),
				"state":               plain.Kept("`complete`, `incomplete` …"),
				"taken_at":            plain.Kept("When the last node's snapshot was made, UTC."),
				"bytes":               schema.Int64Attribute{Computed: true, MarkdownDescription: "Of all nodes' files.", PlanModifiers: []planmodifier.Int64{int64planmodifier.UseStateForUnknown()}},
				"expires_at":          plain.Kept("When it goes by itself, UTC."),
				"locked_until":        plain.Kept("Until when nobody may delete it, UTC."),
				"operation_id":        plain.Kept("Of its making."),
			},
		},
		Create: func(ctx context.Context, c *client.Client, m *model) (string, error) {
			var begun struct {
				Backup document `json:"backup"`
				plain.Begun
			}
			err := plain.Patiently(ctx, func() error {
				return c.Post(ctx, client.Path("clusters", m.ClusterID.ValueString(), "backups"), m.order(), &begun)
			})
			if err == nil {
				m.take(begun.Backup)
			}
			return begun.Operation.ID, err
		},
		Read: func(ctx context.Context, c *client.Client, m *model) error {
			var now document
			if err := c.Get(ctx, client.Path("backups", m.ID.ValueString()), &now); err != nil {
				return err
			}
			if now.State == deleted || now.State == "deleting" {
				return client.NotThere("backup " + now.ID + " any more")
			}
			m.take(now)
			return nil
		},
		// Nothing of it changes; one whose apply was interrupted is waited for.
		Update: func(_ context.Context, _ *client.Client, m *model, before model) (string, error) {
			if before.State.ValueString() == running {
				return before.OperationID.ValueString(), nil
			}
			return "", nil
		},
		Delete: func(ctx context.Context, c *client.Client, m *model) (string, error) {
			if err := m.protected(); err != nil {
				return "", err
			}
			var begun plain.Begun
			err := plain.Patiently(ctx, func() error { return c.Delete(ctx, client.Path("backups", m.ID.ValueString()), nil, &begun) })
			return begun.Operation.ID, err
		},
		Plan: plan,
	}.Resource()
}

// protected: what failed or was cancelled holds nothing that could be lost.
func (m *model) protected() error {
	if state := m.State.ValueString(); state == "failed" || state == "cancelled" {
		return nil
	}
	return plain.Protected("The backup "+m.ID.ValueString(), m.DeletionProtection)
}

func plan(_ context.Context, _ *client.Client, now, before *model, found *diag.Diagnostics) {
	switch {
	case before == nil:
	case now == nil:
		if err := before.protected(); err != nil {
			found.AddError("The backup is not deleted", err.Error())
		}
	default:
		const reason = "A backup stays what it was made of and how; it is not made anew, because what it holds may be nowhere else. Write another `ringmaster_backup` beside it."
		plain.Fixed(found, "cluster_id", now.ClusterID, before.ClusterID, reason)
		plain.Fixed(found, "keyspaces", now.Keyspaces, before.Keyspaces, reason)
		plain.Fixed(found, "location_id", now.LocationID, before.LocationID, reason)
		const term = "How long a backup is kept and locked is said when it is ordered. Delete it in the console or with the command line, or write another `ringmaster_backup` beside it."
		for name, pair := range map[string][2]types.Int64{"keep_days": {now.KeepDays, before.KeepDays}, "lock_days": {now.LockDays, before.LockDays}} {
			if !pair[0].IsUnknown() && !pair[0].Equal(pair[1]) {
				plain.Fixed(found, name, pair[0], types.Int64Value(pair[1].ValueInt64()), term)
			}
		}
		if before.State.ValueString() == running {
			now.State, now.TakenAt, now.Bytes = types.StringUnknown(), types.StringUnknown(), types.Int64Unknown()
		}
	}
}

func (m *model) order() map[string]any {
	return map[string]any{
		"selection": plain.Choices(m.Keyspaces), "location_id": plain.Text(m.LocationID), "keep_days": plain.Number(m.KeepDays), "lock_days": plain.Number(m.LockDays),
		"rate_mib_per_second": plain.Number(m.RateMiBPerSecond),
	}
}

func (m *model) take(of document) {
	m.ID, m.ClusterID, m.LocationID, m.State = types.StringValue(of.ID), types.StringValue(of.ClusterID), types.StringValue(of.LocationID), types.StringValue(of.State)
	m.Keyspaces, m.TakenAt, m.Bytes = plain.ChoiceSet(of.Selection), types.StringPointerValue(of.TakenAt), types.Int64Value(of.Bytes)
	m.ExpiresAt, m.KeepDays = until(of.ExpiresAt, of.CreatedAt)
	m.LockedUntil, m.LockDays = until(of.LockedUntil, of.CreatedAt)
	m.OperationID = types.StringPointerValue(of.OperationID)
	if m.DeletionProtection.IsNull() {
		m.DeletionProtection = types.BoolValue(true)
	}
}

// until is a moment, and how many days that is after another.
func until(when *time.Time, from time.Time) (types.String, types.Int64) {
	if when == nil {
		return types.StringNull(), types.Int64Null()
	}
	return types.StringValue(when.UTC().Format(time.RFC3339)), types.Int64Value(int64(math.Round(when.Sub(from).Hours() / 24)))
}
