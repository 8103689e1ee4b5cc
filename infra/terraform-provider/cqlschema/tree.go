package cqlschema

import (
	"context"
	"fmt"
	"strconv"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"ringmaster/terraform-provider/client"
	"ringmaster/terraform-provider/plain"
)

// tree is a whole schema, as the API tells it.
type tree struct {
	Keyspaces []struct {
		Name        string            `json:"name"`
		System      bool              `json:"system"`
		Replication map[string]string `json:"replication"`
		Tables      []struct {
			Name    string `json:"name"`
			ViewOf  string `json:"view_of"`
			Comment string `json:"comment"`
			Columns []struct {
				Name  string `json:"name"`
				Type  string `json:"type"`
				Kind  string `json:"kind"`
				Order string `json:"order"`
			} `json:"columns"`
		} `json:"tables"`
	} `json:"keyspaces"`
	Left int64 `json:"left"`
}

type keyspaces struct {
	ClusterID types.String   `tfsdk:"cluster_id"`
	Keyspaces []toldKeyspace `tfsdk:"keyspaces"`
}

type toldKeyspace struct {
	Name        string           `tfsdk:"name"`
	Replication map[string]int64 `tfsdk:"replication"`
}

type tables struct {
	ClusterID types.String `tfsdk:"cluster_id"`
	Keyspace  types.String `tfsdk:"keyspace"`
	Tables    []toldTable  `tfsdk:"tables"`
}

type toldTable struct {
	Keyspace      string            `tfsdk:"keyspace"`
	Name          string            `tfsdk:"name"`
	Columns       map[string]string `tfsdk:"columns"`
	PartitionKey  []string          `tfsdk:"partition_key"`
	ClusteringKey []string          `tfsdk:"clustering_key"`
	Descending    []string          `tfsdk:"descending"`
	Static        []string          `tfsdk:"static"`
	Comment       string            `tfsdk:"comment"`
}

// look reads the schema without what is the engine's own. Errors: as those of ask; and that it is too large to be told whole.
func look(ctx context.Context, c *client.Client, clusterID string) (tree, error) {
	now, err := ask(ctx, c, clusterID, "the schema", func(session string, now *statement) error {
		return c.Post(ctx, client.Path("clusters", clusterID, "cql", "schema"), map[string]any{"session_id": session}, now)
	})
	found := tree{}
	switch {
	case err != nil:
		return found, err
	case now.Tree == nil:
		return found, fmt.Errorf("the schema of %s was not told", clusterID)
	case now.Tree.Left > 0:
		return found, fmt.Errorf("the schema of %s is too large: %d columns more than are told at once", clusterID, now.Tree.Left)
	}
	for _, one := range now.Tree.Keyspaces {
		if !one.System {
			found.Keyspaces = append(found.Keyspaces, one)
		}
	}
	return found, nil
}

// NewKeyspaces makes the data source ringmaster_keyspaces.
func NewKeyspaces() datasource.DataSource {
	return plain.Data[keyspaces]{
		Name: "keyspaces",
		Schema: schema.Schema{
			MarkdownDescription: "Keyspaces of a cluster's database, without the engine's own; the control plane's `ringmaster` is among them. Read as the provider's `cql_role`.",
			Attributes: map[string]schema.Attribute{
				"cluster_id": schema.StringAttribute{Required: true, MarkdownDescription: "Id of the cluster, `clu_…`."},
				"keyspaces": many(map[string]schema.Attribute{
					"name":        one("As the database has it."),
					"replication": schema.MapAttribute{Computed: true, ElementType: types.Int64Type, MarkdownDescription: "Replicas by data centre; of keyspaces that do not say where, `replication_factor`."},
				}),
			},
		},
		Read: func(ctx context.Context, c *client.Client, m *keyspaces) error {
			found, err := look(ctx, c, m.ClusterID.ValueString())
			m.Keyspaces = []toldKeyspace{}
			for _, one := range found.Keyspaces {
				told := toldKeyspace{one.Name, map[string]int64{}}
				for datacenter, number := range one.Replication {
					if replicas, err := strconv.ParseInt(number, 10, 64); err == nil { // the class is none
						told.Replication[datacenter] = replicas
					}
				}
				m.Keyspaces = append(m.Keyspaces, told)
			}
			return err
		},
	}.DataSource()
}

// NewTables makes the data source ringmaster_tables.
func NewTables() datasource.DataSource {
	return plain.Data[tables]{
		Name: "tables",
		Schema: schema.Schema{
			MarkdownDescription: "Tables of a cluster's database, without the engine's own and without materialized views; the control plane's, of the keyspace `ringmaster`, are among them. Read as the provider's `cql_role`.",
			Attributes: map[string]schema.Attribute{
				"cluster_id": schema.StringAttribute{Required: true, MarkdownDescription: "Id of the cluster, `clu_…`."},
				"keyspace":   schema.StringAttribute{Optional: true, MarkdownDescription: "Only of this one. Left out: of all."},
				"tables": many(map[string]schema.Attribute{
					"keyspace": one("Of which keyspace."), "name": one("As the database has it."), "comment": one("For people; may be empty."),
					"columns":       schema.MapAttribute{Computed: true, ElementType: types.StringType, MarkdownDescription: "Types by column."},
					"partition_key": several("Columns that say on which nodes a row is, in order."), "clustering_key": several("Columns by which rows of a partition are sorted, in order."),
					"descending": several("Those of the clustering key that are sorted from high to low."), "static": several("Columns of which a partition has one value."),
				}),
			},
		},
		Read: func(ctx context.Context, c *client.Client, m *tables) error {
			found, err := look(ctx, c, m.ClusterID.ValueString())
			m.Tables = []toldTable{}
			for _, keyspace := range found.Keyspaces {
				if wanted := m.Keyspace.ValueString(); wanted != "" && wanted != keyspace.Name {
					continue
				}
				for _, table := range keyspace.Tables {
					if table.ViewOf != "" {
						continue
					}
					told := toldTable{keyspace.Name, table.Name, map[string]string{}, []string{}, []string{}, []string{}, []string{}, table.Comment}
					for _, column := range table.Columns { // keys come in their order
						told.Columns[column.Name] = column.Type
						switch column.Kind {
						case "partition_key":
							told.PartitionKey = append(told.PartitionKey, column.Name)
						case "clustering":
							told.ClusteringKey = append(told.ClusteringKey, column.Name)
						case "static":
							told.Static = append(told.Static, column.Name)
						}
						if column.Order == "desc" {
							told.Descending = append(told.Descending, column.Name)
						}
					}
					m.Tables = append(m.Tables, told)
				}
			}
			return err
		},
	}.DataSource()
}

func one(description string) schema.StringAttribute {
	return schema.StringAttribute{Computed: true, MarkdownDescription: description}
}

func several(description string) schema.ListAttribute {
	return schema.ListAttribute{Computed: true, ElementType: types.StringType, MarkdownDescription: description}
}

func many(attributes map[string]schema.Attribute) schema.ListNestedAttribute {
	return schema.ListNestedAttribute{Computed: true, MarkdownDescription: "Those that there are.", NestedObject: schema.NestedAttributeObject{Attributes: attributes}}
}
