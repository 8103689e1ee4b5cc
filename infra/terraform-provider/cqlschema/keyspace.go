package cqlschema

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"ringmaster/terraform-provider/client"
	"ringmaster/terraform-provider/plain"
)

type keyspace struct {
	ClusterID          types.String `tfsdk:"cluster_id"`
	Name               types.String `tfsdk:"name"`
	Replication        types.Map    `tfsdk:"replication"`
	DurableWrites      types.Bool   `tfsdk:"durable_writes"`
	DeletionProtection types.Bool   `tfsdk:"deletion_protection"`
}

const lost = "Its rows would be lost, so it is not made anew. "

// NewKeyspace makes the resource ringmaster_keyspace.
func NewKeyspace() resource.Resource {
	return plain.Kind[keyspace]{
		Name: "keyspace",
		Schema: schema.Schema{
			MarkdownDescription: "A keyspace of a cluster's database. Changed in place or refused by the plan, never made anew. Read and changed as the provider's `cql_role`.",
			Attributes: map[string]schema.Attribute{
				"cluster_id": schema.StringAttribute{Required: true, MarkdownDescription: "Id of the cluster, `clu_…`. Another one is refused."},
				"name":       schema.StringAttribute{Required: true, MarkdownDescription: "Up to 48 letters, digits and underscores. Another one is refused."},
				"replication": schema.MapAttribute{
					Required: true, ElementType: types.Int64Type,
					MarkdownDescription: "Replicas by data centre: `{ local-local-1 = 3 }`. Changed in place; where there are to be more, repair the keyspace afterwards.",
				},
				"durable_writes":      schema.BoolAttribute{Optional: true, Computed: true, Default: booldefault.StaticBool(true), MarkdownDescription: "Whether writes go through the commit log. Changed in place. Default: true."},
				"deletion_protection": plain.Protection("the keyspace"),
			},
		},
		Import: []string{"cluster_id", "name"},
		Create: func(ctx context.Context, c *client.Client, k *keyspace) (string, error) {
			if _, err := k.run(ctx, c, "CREATE KEYSPACE "+name(k.Name.ValueString())+" WITH "+k.properties(), true); err != nil {
				return "", err
			}
			return "", k.settle(ctx, c)
		},
		Read: func(ctx context.Context, c *client.Client, k *keyspace) error { return k.read(ctx, c) },
		Update: func(ctx context.Context, c *client.Client, k *keyspace, before keyspace) (string, error) {
			if k.Replication.Equal(before.Replication) && k.DurableWrites.Equal(before.DurableWrites) {
				return "", nil
			}
			if _, err := k.run(ctx, c, "ALTER KEYSPACE "+name(k.Name.ValueString())+" WITH "+k.properties(), true); err != nil {
				return "", err
			}
			return "", k.settle(ctx, c)
		},
		Delete: func(ctx context.Context, c *client.Client, k *keyspace) (string, error) {
			if err := k.droppable(ctx, c); err != nil {
				return "", err
			}
			_, err := k.run(ctx, c, "DROP KEYSPACE "+name(k.Name.ValueString()), true)
			return "", err
		},
		Plan: planKeyspace,
	}.Resource()
}

func planKeyspace(ctx context.Context, c *client.Client, now, before *keyspace, found *diag.Diagnostics) {
	if now == nil {
		// Its tables may go in the same run: whether it is empty is asked when it is done.
		if err := plain.Protected("The keyspace "+before.Name.ValueString(), before.DeletionProtection); err != nil {
			found.AddError("The keyspace is not dropped", err.Error())
		}
		return
	}
	for datacenter, one := range now.Replication.Elements() {
		if number, is := one.(types.Int64); is && !number.IsUnknown() && (number.ValueInt64() < 1 || number.ValueInt64() > 30) {
			found.AddAttributeError(path.Root("replication"), "Not possible", datacenter+" is to have "+strconv.FormatInt(number.ValueInt64(), 10)+" replicas; 1 to 30 are possible.")
		}
	}
	if before == nil {
		if now.ClusterID.IsUnknown() || now.Name.IsUnknown() {
			return
		}
		there := *now
		if err := there.read(ctx, c); err == nil {
			found.AddAttributeError(path.Root("name"), "There is a keyspace "+now.Name.ValueString()+" already",
				fmt.Sprintf("To manage it here, `terraform import` it as %s/%s.", now.ClusterID.ValueString(), now.Name.ValueString()))
		} else if !client.Missing(err) {
			plain.Refused(found, "Not read", err)
		}
		return
	}
	plain.Fixed(found, "cluster_id", now.ClusterID, before.ClusterID, "A keyspace stays in its cluster. "+lost+"Write another `ringmaster_keyspace`.")
	plain.Fixed(found, "name", now.Name, before.Name, "The database has no way to rename a keyspace. "+lost+"Write another `ringmaster_keyspace`.")
	for datacenter, one := range now.Replication.Elements() {
		wanted, _ := one.(types.Int64)
		had, _ := before.Replication.Elements()[datacenter].(types.Int64)
		if wanted.ValueInt64() > had.ValueInt64() {
			found.AddAttributeWarning(path.Root("replication"), "New replicas are empty until the keyspace is repaired",
				fmt.Sprintf("%s gets %d replicas in %s, from %d. Repair it before you read with fewer answers than QUORUM.", now.Name.ValueString(), wanted.ValueInt64(), datacenter, had.ValueInt64()))
		}
	}
}

func (k *keyspace) run(ctx context.Context, c *client.Client, text string, writes bool) ([][]*string, error) {
	return run(ctx, c, k.ClusterID.ValueString(), text, writes)
}

func (k *keyspace) read(ctx context.Context, c *client.Client) error {
	found, err := k.run(ctx, c, "SELECT replication, durable_writes FROM system_schema.keyspaces WHERE keyspace_name = "+text(k.Name.ValueString()), false)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return client.NotThere("keyspace " + k.Name.ValueString())
	}
	replicas := map[string]int64{}
	for datacenter, number := range entries(value(found[0][0])) {
		if datacenter == "class" {
			continue
		}
		if replicas[datacenter], err = strconv.ParseInt(number, 10, 64); err != nil {
			return fmt.Errorf("the keyspace %s has %q replicas in %s, which is not kept here", k.Name.ValueString(), number, datacenter)
		}
	}
	k.Replication, _ = types.MapValueFrom(ctx, types.Int64Type, replicas)
	k.DurableWrites = types.BoolValue(strings.EqualFold(value(found[0][1]), "true"))
	if k.DeletionProtection.IsNull() {
		k.DeletionProtection = types.BoolValue(true)
	}
	return nil
}

func (k *keyspace) settle(ctx context.Context, c *client.Client) error {
	wanted := *k
	return agreed(ctx, func() error { return k.read(ctx, c) }, func() bool {
		return k.Replication.Equal(wanted.Replication) && k.DurableWrites.Equal(wanted.DurableWrites)
	})
}

// droppable refuses what is protected and what holds tables: of those nobody said that they are to go.
func (k *keyspace) droppable(ctx context.Context, c *client.Client) error {
	if err := plain.Protected("The keyspace "+k.Name.ValueString(), k.DeletionProtection); err != nil {
		return err
	}
	tables, err := k.run(ctx, c, "SELECT table_name FROM system_schema.tables WHERE keyspace_name = "+text(k.Name.ValueString()), false)
	if err == nil && len(tables) > 0 {
		names := []string{}
		for _, one := range tables {
			names = append(names, value(one[0]))
		}
		return fmt.Errorf("the keyspace %s has tables, and is dropped only without any: %s", k.Name.ValueString(), strings.Join(names, ", "))
	}
	return err
}

func (k *keyspace) properties() string {
	said := []string{}
	for datacenter, one := range k.Replication.Elements() {
		number, _ := one.(types.Int64)
		said = append(said, text(datacenter)+": "+strconv.FormatInt(number.ValueInt64(), 10))
	}
	slices.Sort(said)
	return fmt.Sprintf("replication = {'class': 'NetworkTopologyStrategy', %s} AND durable_writes = %t", strings.Join(said, ", "), k.DurableWrites.ValueBool())
}
