// Package restore is the resource ringmaster_restore.
package restore

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
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
	ID          types.String `tfsdk:"id"`
	BackupID    types.String `tfsdk:"backup_id"`
	Mode        types.String `tfsdk:"mode"`
	ClusterID   types.String `tfsdk:"cluster_id"`
	Tables      types.Set    `tfsdk:"tables"`
	PointInTime types.String `tfsdk:"point_in_time"`
	Repair      types.Bool   `tfsdk:"repair"`
	NewCluster  *newCluster  `tfsdk:"new_cluster"`
	Again       types.Int64  `tfsdk:"again"`
	State       types.String `tfsdk:"state"`
	WayBackID   types.String `tfsdk:"way_back_id"`
	OperationID types.String `tfsdk:"operation_id"`
}

type newCluster struct {
	Name                  types.String `tfsdk:"name"`
	Engine                types.String `tfsdk:"engine"`
	EngineVersion         types.String `tfsdk:"engine_version"`
	Cloud                 types.String `tfsdk:"cloud"`
	CloudAccount          types.String `tfsdk:"cloud_account"`
	Region                types.String `tfsdk:"region"`
	Zones                 types.Set    `tfsdk:"zones"`
	MachineType           types.String `tfsdk:"machine_type"`
	NodesPerZone          types.Int64  `tfsdk:"nodes_per_zone"`
	TerminationProtection types.Bool   `tfsdk:"termination_protection"`
}

type document struct {
	ID          string  `json:"id"`
	BackupID    string  `json:"backup_id"`
	ClusterID   string  `json:"cluster_id"`
	Mode        string  `json:"mode"`
	PointInTime *string `json:"point_in_time"`
	Tables      []table `json:"tables"`
	State       string  `json:"state"`
	WayBackID   *string `json:"way_back_id"`
	OperationID *string `json:"operation_id"`
}

type table struct {
	Keyspace string `json:"keyspace"`
	Table    string `json:"table"`
}

const (
	running = "running"
	stays   = " Stays as it was ordered."
	reason  = "A restore is something that was done. To do another one, write another `ringmaster_restore` beside it."
)

// New makes the resource.
func New() resource.Resource {
	fixed := []planmodifier.String{stringplanmodifier.UseStateForUnknown()}
	one := func(description string) schema.StringAttribute {
		return schema.StringAttribute{Required: true, MarkdownDescription: description}
	}
	return plain.Kind[model]{
		Name: "restore",
		Schema: schema.Schema{
			MarkdownDescription: "A restore of a backup: done once, when it is applied. Destroying it only forgets that it was done; what was restored stays.",
			Attributes: map[string]schema.Attribute{
				"id":        plain.ID("rst"),
				"backup_id": one("Id of the backup, `bkp_…`." + stays),
				"mode":      one("`replace`: tables are emptied first. `add`: beside what is there, newer writes win. `copy`: under new names. `cluster`: into a new cluster." + stays),
				"cluster_id": schema.StringAttribute{
					Optional: true, Computed: true, PlanModifiers: fixed, MarkdownDescription: "Into which; left out: the one that the backup is of, or with `cluster` the new one." + stays,
				},
				"tables":        schema.SetAttribute{Optional: true, ElementType: types.StringType, MarkdownDescription: "`shop.orders`; left out: all that are in the backup." + stays},
				"point_in_time": schema.StringAttribute{Optional: true, MarkdownDescription: "`2026-05-01T12:00:00Z`: until which moment, with the archived commit logs; left out: as the backup has it." + stays},
				"repair":        schema.BoolAttribute{Optional: true, MarkdownDescription: "Repair the tables afterwards; left out: where nodes may not have all that they should." + stays},
				"new_cluster": schema.SingleNestedAttribute{
					Optional: true, MarkdownDescription: "With `cluster`: what to order. Afterwards `import` it as a `ringmaster_cluster`, by `cluster_id`." + stays,
					Attributes: map[string]schema.Attribute{
						"name": one("1 to 48 lower-case letters, digits and hyphens."), "engine": one("The backup's."),
						"engine_version": schema.StringAttribute{Optional: true, MarkdownDescription: "Left out: the engine's default."},
						"cloud":          one("`aws`, `gcp` or `local`."),
						"cloud_account":  schema.StringAttribute{Optional: true, MarkdownDescription: "Left out: the installation's own."},
						"region":         one("From the catalogue."),
						"zones":          schema.SetAttribute{Required: true, ElementType: types.StringType, MarkdownDescription: "Each holds one replica of every row."},
						"machine_type":   one("From the catalogue."),
						"nodes_per_zone": schema.Int64Attribute{Required: true, MarkdownDescription: "1 to 30."},
						"termination_protection": schema.BoolAttribute{
							Optional: true, Computed: true, Default: booldefault.StaticBool(true), MarkdownDescription: "While on, nobody can delete it. Default: true.",
						},
					},
				},
				"again": schema.Int64Attribute{
					Optional: true, Computed: true, Default: int64default.StaticInt64(0),
					MarkdownDescription: "How many restores of the same backup into the same cluster in the same way were done before and are meant to be followed by this one. When there are more, the plan refuses: an apply that was cut off has most likely done it already. Default: 0.",
				},
				"state":        plain.Kept("`running`, `succeeded` or `cancelled`."),
				"way_back_id":  plain.Kept("Backup of what the tables held before, where one was made."),
				"operation_id": plain.Kept("Of the restore."),
			},
		},
		Create: func(ctx context.Context, c *client.Client, m *model) (string, error) {
			var begun struct {
				Restore document `json:"restore"`
				plain.Begun
			}
			err := plain.Patiently(ctx, func() error {
				return c.Post(ctx, client.Path("backups", m.BackupID.ValueString(), "restore"), m.order(), &begun)
			})
			if err == nil {
				m.take(begun.Restore)
			}
			return begun.Operation.ID, err
		},
		Read: func(ctx context.Context, c *client.Client, m *model) error {
			var now document
			err := c.Get(ctx, client.Path("restores", m.ID.ValueString()), &now)
			if err == nil {
				m.take(now)
			}
			return err
		},
		// Nothing of it changes; one whose apply was interrupted is waited for.
		Update: func(_ context.Context, _ *client.Client, m *model, before model) (string, error) {
			if before.State.ValueString() == running {
				return before.OperationID.ValueString(), nil
			}
			return "", nil
		},
		Delete: func(context.Context, *client.Client, *model) (string, error) { return "", nil },
		Plan:   plan,
	}.Resource()
}

func plan(ctx context.Context, c *client.Client, now, before *model, found *diag.Diagnostics) {
	switch {
	case now == nil:
		found.AddWarning("The restore is forgotten, not undone", "What "+before.ID.ValueString()+" restored into the cluster "+before.ClusterID.ValueString()+" stays.")
	case before == nil:
		planned(ctx, c, now, found)
	default:
		plain.Fixed(found, "backup_id", now.BackupID, before.BackupID, reason)
		plain.Fixed(found, "mode", now.Mode, before.Mode, reason)
		plain.Fixed(found, "cluster_id", now.ClusterID, before.ClusterID, reason)
		plain.Fixed(found, "point_in_time", now.PointInTime, before.PointInTime, reason)
		plain.Fixed(found, "tables", now.Tables, before.Tables, reason)
		plain.Fixed(found, "repair", now.Repair, before.Repair, reason)
		if before.NewCluster != nil && (now.NewCluster == nil || !now.NewCluster.Name.Equal(before.NewCluster.Name)) {
			found.AddAttributeError(path.Root("new_cluster"), "Not possible", reason)
		}
		if before.State.ValueString() == running {
			now.State = types.StringUnknown()
		}
	}
}

// planned refuses what was done already and what the server would refuse.
func planned(ctx context.Context, c *client.Client, now *model, found *diag.Diagnostics) {
	if now.BackupID.IsUnknown() || now.Mode.IsUnknown() || now.Again.IsUnknown() || now.Tables.IsUnknown() || now.PointInTime.IsUnknown() {
		return
	}
	cluster := now.ClusterID.ValueString()
	if now.Mode.ValueString() != "cluster" {
		if cluster == "" {
			var backup struct {
				ClusterID string `json:"cluster_id"`
			}
			if err := c.Get(ctx, client.Path("backups", now.BackupID.ValueString()), &backup); err != nil {
				plain.Refused(found, "Not possible", err)
				return
			}
			cluster = backup.ClusterID
		}
		if done := theSame(ctx, c, now, cluster, found); int64(len(done)) > now.Again.ValueInt64() {
			found.AddError("This restore was done already, or goes on",
				fmt.Sprintf("%s restored the same backup in the same way into the cluster %s. If an apply was cut off, `terraform import` it as %s, or `terraform untaint` its address. To restore once more, set again = %d.",
					done[0], cluster, done[0], len(done)))
		}
	}
	if found.HasError() || now.NewCluster != nil && now.NewCluster.unknown() {
		return
	}
	err := c.Post(ctx, client.Path("backups", now.BackupID.ValueString(), "restore")+"?dry_run=true", now.order(), nil)
	if err != nil && !client.HasCode(err, "operation_in_progress") {
		plain.Refused(found, "Not possible", err)
	}
}

// theSame are ids of restores of the same backup into the same cluster, done or going on, latest first.
func theSame(ctx context.Context, c *client.Client, m *model, cluster string, found *diag.Diagnostics) []string {
	all, err := client.Every[document](ctx, c, client.Path("clusters", cluster, "restores"), nil)
	if err != nil {
		plain.Refused(found, "Not read", err)
	}
	ids := []string{}
	for _, one := range all {
		if one.BackupID == m.BackupID.ValueString() && one.Mode == m.Mode.ValueString() && one.State != "cancelled" && m.isOf(one) {
			ids = append(ids, one.ID)
		}
	}
	return ids
}

// isOf tells whether it is of the same tables, up to the same moment. One of all tables is of each.
func (m *model) isOf(one document) bool {
	names := []string{}
	for _, each := range one.Tables {
		names = append(names, each.Keyspace+"."+each.Table)
	}
	wanted := plain.Texts(m.Tables)
	sameMoment := m.PointInTime.ValueString() == "" && one.PointInTime == nil || one.PointInTime != nil && moment(*one.PointInTime).Equal(moment(m.PointInTime.ValueString()))
	return sameMoment && (len(wanted) == 0 || len(names) == 0 || slices.ContainsFunc(wanted, func(name string) bool { return slices.Contains(names, name) }))
}

func moment(text string) time.Time {
	found, _ := time.Parse(time.RFC3339, text)
	return found
}

func (n *newCluster) unknown() bool {
	for _, one := range []interface{ IsUnknown() bool }{n.Name, n.Engine, n.EngineVersion, n.Cloud, n.CloudAccount, n.Region, n.Zones, n.MachineType, n.NodesPerZone} {
		if one.IsUnknown() {
			return true
		}
	}
	return false
}

func (m *model) order() map[string]any {
	tables := []table{}
	for _, name := range plain.Texts(m.Tables) {
		keyspace, one, _ := strings.Cut(name, ".")
		tables = append(tables, table{keyspace, one})
	}
	order := map[string]any{
		"mode": m.Mode.ValueString(), "tables": tables, "point_in_time": plain.Text(m.PointInTime), "cluster_id": plain.Text(m.ClusterID),
		"repair": m.Repair.ValueBoolPointer(),
	}
	if of := m.NewCluster; of != nil {
		order["new_cluster"] = map[string]any{
			"name": of.Name.ValueString(), "engine": of.Engine.ValueString(), "engine_version": plain.Text(of.EngineVersion), "provider": of.Cloud.ValueString(),
			"cloud_account": plain.Text(of.CloudAccount), "region": of.Region.ValueString(), "zones": plain.Texts(of.Zones), "machine_type": of.MachineType.ValueString(),
			"nodes_per_zone": of.NodesPerZone.ValueInt64(), "termination_protection": of.TerminationProtection.ValueBool(),
		}
	}
	return order
}

// take leaves tables and moment as the configuration writes them, when they are said there.
func (m *model) take(of document) {
	m.ID, m.BackupID, m.ClusterID, m.Mode = types.StringValue(of.ID), types.StringValue(of.BackupID), types.StringValue(of.ClusterID), types.StringValue(of.Mode)
	m.State, m.WayBackID, m.OperationID = types.StringValue(of.State), types.StringPointerValue(of.WayBackID), types.StringPointerValue(of.OperationID)
	if m.Again.IsNull() {
		m.Again = types.Int64Value(0)
	}
}
