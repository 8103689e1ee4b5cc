// Package inventory is the data sources of what an organisation has: ringmaster_cluster, ringmaster_clusters, ringmaster_backups,
// ringmaster_cql_roles, ringmaster_repair_schedule, ringmaster_organisation. Plain lists are in package lists.
package inventory

import (
	"context"
	"net/url"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"ringmaster/terraform-provider/client"
	"ringmaster/terraform-provider/plain"
)

type clusterModel struct {
	ID   types.String `tfsdk:"id"`
	Name types.String `tfsdk:"name"`
	cluster
}

// cluster is what is told of each; nothing yet where a configuration asks.
type cluster struct {
	State                 *string           `tfsdk:"state"`
	Engine                *string           `tfsdk:"engine"`
	EngineVersion         *string           `tfsdk:"engine_version"`
	Cloud                 *string           `tfsdk:"cloud"`
	Datacenters           []datacenter      `tfsdk:"datacenters"`
	NodesTotal            *int64            `tfsdk:"nodes_total"`
	Tags                  map[string]string `tfsdk:"tags"`
	TerminationProtection *bool             `tfsdk:"termination_protection"`
	CreatedAt             *string           `tfsdk:"created_at"`
}

type datacenter struct {
	Region       string   `tfsdk:"region" json:"region"`
	Zones        []string `tfsdk:"zones" json:"zones"`
	MachineType  string   `tfsdk:"machine_type" json:"machine_type"`
	NodesPerZone int64    `tfsdk:"nodes_per_zone" json:"nodes_per_zone"`
}

type clusterDocument struct {
	ID            string       `json:"id"`
	Name          string       `json:"name"`
	State         string       `json:"state"`
	Engine        string       `json:"engine"`
	EngineVersion string       `json:"engine_version"`
	Provider      string       `json:"provider"`
	Datacenters   []datacenter `json:"datacenters"`
	NodesTotal    int64        `json:"nodes_total"`
	Options       struct {
		Tags map[string]string `json:"tags"`
	} `json:"options"`
	TerminationProtection bool   `json:"termination_protection"`
	CreatedAt             string `json:"created_at"`
}

func (d clusterDocument) model() clusterModel {
	return clusterModel{types.StringValue(d.ID), types.StringValue(d.Name), cluster{
		State: &d.State, Engine: &d.Engine, EngineVersion: &d.EngineVersion, Cloud: &d.Provider, Datacenters: d.Datacenters, NodesTotal: &d.NodesTotal,
		Tags: d.Options.Tags, TerminationProtection: &d.TerminationProtection, CreatedAt: &d.CreatedAt,
	}}
}

func clusterAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"state": text("`active` once it can be used."), "engine": text("`cassandra` or `scylla`."), "engine_version": text("Of the engine."),
		"cloud": text("`aws`, `gcp` or `local`."), "nodes_total": number("Of all data centres."), "created_at": text("When it was ordered, UTC."),
		"tags":                   schema.MapAttribute{Computed: true, ElementType: types.StringType, MarkdownDescription: "Your own labels."},
		"termination_protection": schema.BoolAttribute{Computed: true, MarkdownDescription: "While on, nobody can delete it."},
		"datacenters": list("In the order in which they came.", map[string]schema.Attribute{
			"region": text("By which it is known."), "machine_type": text("Of its nodes."), "nodes_per_zone": number("The same in every zone."),
			"zones": schema.ListAttribute{Computed: true, ElementType: types.StringType, MarkdownDescription: "Each holds one replica of every row."},
		}),
	}
}

// NewCluster makes the data source ringmaster_cluster.
func NewCluster() datasource.DataSource {
	attributes := clusterAttributes()
	attributes["id"] = schema.StringAttribute{Optional: true, Computed: true, MarkdownDescription: "`clu_…`. Or name."}
	attributes["name"] = schema.StringAttribute{Optional: true, Computed: true, MarkdownDescription: "Or id."}
	return plain.Data[clusterModel]{
		Name:   "cluster",
		Schema: schema.Schema{MarkdownDescription: "A cluster, by its id or its name.", Attributes: attributes},
		Read: func(ctx context.Context, c *client.Client, m *clusterModel) error {
			if id := m.ID.ValueString(); id != "" {
				var found clusterDocument
				if err := c.Get(ctx, client.Path("clusters", id), &found); err != nil {
					return err
				}
				*m = found.model()
				return nil
			}
			found, err := client.Every[clusterDocument](ctx, c, "/clusters", url.Values{"name": {m.Name.ValueString()}})
			if err != nil {
				return err
			}
			for _, one := range found {
				if one.Name == m.Name.ValueString() {
					*m = one.model()
					return nil
				}
			}
			return client.NotThere("cluster " + m.Name.ValueString())
		},
	}.DataSource()
}

type clusters struct {
	Tags     map[string]string `tfsdk:"tags"`
	Clusters []clusterModel    `tfsdk:"clusters"`
}

// NewClusters makes the data source ringmaster_clusters.
func NewClusters() datasource.DataSource {
	attributes := clusterAttributes()
	attributes["id"], attributes["name"] = text("`clu_…`"), text("Unique among the organisation's.")
	return plain.Data[clusters]{
		Name: "clusters",
		Schema: schema.Schema{
			MarkdownDescription: "The organisation's clusters, as far as the token reaches.",
			Attributes: map[string]schema.Attribute{
				"tags":     schema.MapAttribute{Optional: true, ElementType: types.StringType, MarkdownDescription: "Only those that have all of these. Left out: all."},
				"clusters": list("Those that there are.", attributes),
			},
		},
		Read: func(ctx context.Context, c *client.Client, m *clusters) error {
			found, err := client.Every[clusterDocument](ctx, c, "/clusters", nil)
			m.Clusters = []clusterModel{}
			for _, one := range found {
				if has(one.Options.Tags, m.Tags) && one.State != "deleted" {
					m.Clusters = append(m.Clusters, one.model())
				}
			}
			return err
		},
	}.DataSource()
}

func has(tags, wanted map[string]string) bool {
	for key, value := range wanted {
		if found, is := tags[key]; !is || found != value {
			return false
		}
	}
	return true
}

type backups struct {
	ClusterID types.String `tfsdk:"cluster_id"`
	Backups   []backup     `tfsdk:"backups"`
}

type backup struct {
	ID           string  `tfsdk:"id" json:"id"`
	ClusterID    string  `tfsdk:"cluster_id" json:"cluster_id"`
	ClusterName  string  `tfsdk:"cluster_name" json:"cluster_name"`
	State        string  `tfsdk:"state" json:"state"`
	ScheduleName *string `tfsdk:"schedule_name" json:"schedule_name"`
	TakenAt      *string `tfsdk:"taken_at" json:"taken_at"`
	Bytes        int64   `tfsdk:"bytes" json:"bytes"`
	ExpiresAt    *string `tfsdk:"expires_at" json:"expires_at"`
	LockedUntil  *string `tfsdk:"locked_until" json:"locked_until"`
	VerifiedAt   *string `tfsdk:"verified_at" json:"verified_at"`
}

// NewBackups makes the data source ringmaster_backups.
func NewBackups() datasource.DataSource {
	return plain.Data[backups]{
		Name: "backups",
		Schema: schema.Schema{
			MarkdownDescription: "Backups, latest first.",
			Attributes: map[string]schema.Attribute{
				"cluster_id": schema.StringAttribute{Optional: true, MarkdownDescription: "Only of this cluster. Left out: of all, also of those that were deleted."},
				"backups": list("Those that there are.", map[string]schema.Attribute{
					"id": text("`bkp_…`"), "cluster_id": text("Of which cluster."), "cluster_name": text("Of the cluster."), "state": text("`complete`, `incomplete` …"),
					"schedule_name": text("Null: made by hand."), "taken_at": text("When the last node's snapshot was made, UTC."), "bytes": number("Of all nodes' files."),
					"expires_at": text("Made by hand: kept until then, UTC."), "locked_until": text("Until when nobody may delete it, UTC."), "verified_at": text("When the sizes of all its objects were last looked at, UTC."),
				}),
			},
		},
		Read: func(ctx context.Context, c *client.Client, m *backups) (err error) {
			if id := m.ClusterID.ValueString(); id != "" {
				m.Backups, err = client.Every[backup](ctx, c, client.Path("clusters", id, "backups"), nil)
				return err
			}
			m.Backups, err = client.Every[backup](ctx, c, "/backups", nil)
			return err
		},
	}.DataSource()
}

type cqlRoles struct {
	ClusterID types.String `tfsdk:"cluster_id"`
	Roles     []cqlRole    `tfsdk:"roles"`
}

type cqlRole struct {
	Name     string   `tfsdk:"name" json:"name"`
	CanLogin bool     `tfsdk:"can_login" json:"can_login"`
	MemberOf []string `tfsdk:"member_of" json:"member_of"`
}

// NewCQLRoles makes the data source ringmaster_cql_roles.
func NewCQLRoles() datasource.DataSource {
	return plain.Data[cqlRoles]{
		Name: "cql_roles",
		Schema: schema.Schema{
			MarkdownDescription: "Roles of a cluster's database, as they were last read.",
			Attributes: map[string]schema.Attribute{
				"cluster_id": schema.StringAttribute{Required: true, MarkdownDescription: "`clu_…`"},
				"roles": list("Those that there are.", map[string]schema.Attribute{
					"name": text("As the database has it."), "can_login": schema.BoolAttribute{Computed: true, MarkdownDescription: "Whether it signs in."},
					"member_of": schema.ListAttribute{Computed: true, ElementType: types.StringType, MarkdownDescription: "Roles whose permissions it has."},
				}),
			},
		},
		Read: func(ctx context.Context, c *client.Client, m *cqlRoles) error {
			var found struct {
				Items []cqlRole `json:"items"`
			}
			err := c.Get(ctx, client.Path("clusters", m.ClusterID.ValueString(), "roles"), &found)
			m.Roles = found.Items
			return err
		},
	}.DataSource()
}

type repairSchedule struct {
	ClusterID   types.String `tfsdk:"cluster_id"`
	Enabled     *bool        `tfsdk:"enabled" json:"enabled"`
	EveryHours  *int64       `tfsdk:"every_hours" json:"every_hours"`
	Intensity   *int64       `tfsdk:"intensity" json:"intensity"`
	Parallelism *int64       `tfsdk:"parallelism" json:"parallelism"`
	NextRunAt   *string      `tfsdk:"next_run_at" json:"next_run_at"`
}

// NewRepairSchedule makes the data source ringmaster_repair_schedule.
func NewRepairSchedule() datasource.DataSource {
	return plain.Data[repairSchedule]{
		Name: "repair_schedule",
		Schema: schema.Schema{
			MarkdownDescription: "How a cluster is repaired. All null: it has not served yet.",
			Attributes: map[string]schema.Attribute{
				"cluster_id": schema.StringAttribute{Required: true, MarkdownDescription: "`clu_…`"}, "enabled": schema.BoolAttribute{Computed: true, MarkdownDescription: "false: only by hand."},
				"every_hours": number("Hours from one run's begin to the next's."), "intensity": number("Share of its time, in percent, that a node may work for repairs."),
				"parallelism": number("Segments at once; 0: as many as the ring allows."), "next_run_at": text("UTC. Null: only by hand."),
			},
		},
		Read: func(ctx context.Context, c *client.Client, m *repairSchedule) error {
			now := struct {
				Schedule *repairSchedule `json:"schedule"`
			}{m}
			return c.Get(ctx, client.Path("clusters", m.ClusterID.ValueString(), "repairs"), &now)
		},
	}.DataSource()
}

type organisation struct {
	ID        *string `tfsdk:"id" json:"id"`
	Name      *string `tfsdk:"name" json:"name"`
	Slug      *string `tfsdk:"slug" json:"slug"`
	CreatedAt *string `tfsdk:"created_at" json:"created_at"`
}

// NewOrganisation makes the data source ringmaster_organisation.
func NewOrganisation() datasource.DataSource {
	return plain.Data[organisation]{
		Name: "organisation",
		Schema: schema.Schema{
			MarkdownDescription: "The organisation that the provider speaks for.",
			Attributes:          map[string]schema.Attribute{"id": text("`org_…`"), "name": text("For people."), "slug": text("Short, in names of things."), "created_at": text("UTC.")},
		},
		Read: func(ctx context.Context, c *client.Client, m *organisation) error {
			return c.Get(ctx, "/organisation", m)
		},
	}.DataSource()
}

func text(description string) schema.StringAttribute {
	return schema.StringAttribute{Computed: true, MarkdownDescription: description}
}

func number(description string) schema.Int64Attribute {
	return schema.Int64Attribute{Computed: true, MarkdownDescription: description}
}

func list(description string, attributes map[string]schema.Attribute) schema.ListNestedAttribute {
	return schema.ListNestedAttribute{Computed: true, MarkdownDescription: description, NestedObject: schema.NestedAttributeObject{Attributes: attributes}}
}
