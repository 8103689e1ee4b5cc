package cqlschema

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"ringmaster/terraform-provider/client"
	"ringmaster/terraform-provider/plain"
)

type table struct {
	ClusterID          types.String `tfsdk:"cluster_id"`
	Keyspace           types.String `tfsdk:"keyspace"`
	Name               types.String `tfsdk:"name"`
	Columns            types.Map    `tfsdk:"columns"`
	PartitionKey       types.List   `tfsdk:"partition_key"`
	ClusteringKey      types.List   `tfsdk:"clustering_key"`
	Descending         types.Set    `tfsdk:"descending"`
	Static             types.Set    `tfsdk:"static"`
	Comment            types.String `tfsdk:"comment"`
	DefaultTimeToLive  types.Int64  `tfsdk:"default_time_to_live"`
	GCGraceSeconds     types.Int64  `tfsdk:"gc_grace_seconds"`
	Compaction         types.Map    `tfsdk:"compaction"`
	Compression        types.Map    `tfsdk:"compression"`
	Caching            types.Map    `tfsdk:"caching"`
	DeletionProtection types.Bool   `tfsdk:"deletion_protection"`
}

// NewTable makes the resource ringmaster_table.
func NewTable() resource.Resource {
	one := func(description string) schema.StringAttribute {
		return schema.StringAttribute{Required: true, MarkdownDescription: description + " Another one is refused."}
	}
	number := func(description string) schema.Int64Attribute {
		return schema.Int64Attribute{Optional: true, MarkdownDescription: description + " Changed in place; left out: stays as it is."}
	}
	options := func(description string) schema.MapAttribute {
		return schema.MapAttribute{Optional: true, ElementType: types.StringType, MarkdownDescription: description + " Changed in place; left out: stays as it is. What is not written of it is not watched."}
	}
	return plain.Kind[table]{
		Name: "table",
		Schema: schema.Schema{
			MarkdownDescription: "A table of a cluster's database. Columns are added and options changed in place, while it is used; what would lose rows is refused by the plan, and it is never made anew. Read and changed as the provider's `cql_role`.",
			Attributes: map[string]schema.Attribute{
				"cluster_id": one("Id of the cluster, `clu_…`."),
				"keyspace":   one("Name of the keyspace."),
				"name":       one("Up to 48 letters, digits and underscores."),
				"columns": schema.MapAttribute{
					Required: true, ElementType: types.StringType, MarkdownDescription: "Types by column: `{ id = \"uuid\", tags = \"set<text>\" }`. More are added in place; fewer, and other types, are refused.",
				},
				"partition_key":        schema.ListAttribute{Required: true, ElementType: types.StringType, MarkdownDescription: "Columns that say on which nodes a row is, in order. Others are refused."},
				"clustering_key":       schema.ListAttribute{Optional: true, ElementType: types.StringType, MarkdownDescription: "Columns by which rows of a partition are sorted, in order. Others are refused."},
				"descending":           schema.SetAttribute{Optional: true, ElementType: types.StringType, MarkdownDescription: "Those of the clustering key that are sorted from high to low. Others are refused."},
				"static":               schema.SetAttribute{Optional: true, ElementType: types.StringType, MarkdownDescription: "Columns of which a partition has one value. New columns may be; of others it is refused."},
				"comment":              schema.StringAttribute{Optional: true, MarkdownDescription: "For people. Changed in place; left out: stays as it is."},
				"default_time_to_live": number("Seconds after which rows go, of those that are written from then on; 0: never."),
				"gc_grace_seconds":     number("Seconds that tombstones are kept; repairs must be more frequent."),
				"compaction":           options("`{ class = \"LeveledCompactionStrategy\" }`."),
				"compression":          options("`{ class = \"LZ4Compressor\", chunk_length_in_kb = \"16\" }`; of files that are written from then on."),
				"caching":              options("`{ keys = \"ALL\", rows_per_partition = \"NONE\" }`."),
				"deletion_protection":  plain.Protection("the table"),
			},
		},
		Import: []string{"cluster_id", "keyspace", "name"},
		Create: func(ctx context.Context, c *client.Client, t *table) (string, error) {
			if _, err := t.run(ctx, c, t.create(), true); err != nil {
				return "", err
			}
			return "", t.settle(ctx, c)
		},
		Read: func(ctx context.Context, c *client.Client, t *table) error { return t.read(ctx, c) },
		Update: func(ctx context.Context, c *client.Client, t *table, before table) (string, error) {
			for _, one := range t.alterations(before) {
				if _, err := t.run(ctx, c, one, true); err != nil {
					return "", err
				}
			}
			return "", t.settle(ctx, c)
		},
		Delete: func(ctx context.Context, c *client.Client, t *table) (string, error) {
			if err := plain.Protected("The table "+t.words(), t.DeletionProtection); err != nil {
				return "", err
			}
			_, err := t.run(ctx, c, "DROP TABLE "+t.quoted(), true)
			return "", err
		},
		Plan: planTable,
	}.Resource()
}

func planTable(ctx context.Context, c *client.Client, now, before *table, found *diag.Diagnostics) {
	if now == nil {
		if err := plain.Protected("The table "+before.words(), before.DeletionProtection); err != nil {
			found.AddError("The table is not dropped", err.Error())
		}
		return
	}
	for _, one := range []interface{ IsUnknown() bool }{now.ClusterID, now.Keyspace, now.Name, now.Columns, now.PartitionKey, now.ClusteringKey, now.Descending, now.Static} {
		if one.IsUnknown() {
			return // judged when it is applied
		}
	}
	now.sound(found)
	if before == nil {
		there := table{ClusterID: now.ClusterID, Keyspace: now.Keyspace, Name: now.Name}
		if err := there.read(ctx, c); err == nil {
			found.AddAttributeError(path.Root("name"), "There is a table "+now.words()+" already",
				fmt.Sprintf("To manage it here, `terraform import` it as %s/%s/%s.", now.ClusterID.ValueString(), now.Keyspace.ValueString(), now.Name.ValueString()))
		} else if !client.Missing(err) {
			plain.Refused(found, "Not read", err)
		}
		return
	}
	// What was imported has every option in full: what means the same is no difference.
	for _, one := range [][2]*types.Map{{&now.Compaction, &before.Compaction}, {&now.Compression, &before.Compression}, {&now.Caching, &before.Caching}} {
		if !one[0].IsNull() && !one[0].IsUnknown() && !one[1].IsNull() && within(texts(*one[0]), texts(*one[1])) && len(one[1].Elements()) > len(one[0].Elements()) {
			*one[0] = *one[1]
		}
	}
	plain.Fixed(found, "cluster_id", now.ClusterID, before.ClusterID, "A table stays in its cluster. "+lost+"Write another `ringmaster_table`.")
	plain.Fixed(found, "keyspace", now.Keyspace, before.Keyspace, "A table stays in its keyspace. "+lost+"Write another `ringmaster_table`, and copy the rows.")
	plain.Fixed(found, "name", now.Name, before.Name, "The database has no way to rename a table. "+lost+"Write another `ringmaster_table`, and copy the rows.")
	const key = "The primary key says where and in which order rows lie, and stays. " + lost + "Write another `ringmaster_table` with the other key, and copy the rows."
	for attribute, pair := range map[string][2]plain.Elements{
		"partition_key": {now.PartitionKey, before.PartitionKey}, "clustering_key": {now.ClusteringKey, before.ClusteringKey}, "descending": {now.Descending, before.Descending},
	} {
		was, is := plain.Texts(pair[1]), plain.Texts(pair[0])
		if attribute == "descending" {
			slices.Sort(was)
			slices.Sort(is)
		}
		if !slices.Equal(was, is) {
			found.AddAttributeError(path.Root(attribute), "Not possible", key)
		}
	}
	columns, statics, wereStatic := now.columns(), plain.Texts(now.Static), plain.Texts(before.Static)
	for _, column := range slices.Sorted(maps.Keys(before.columns())) {
		kind, is := columns[column]
		switch was := before.columns()[column]; {
		case !is:
			found.AddAttributeError(path.Root("columns"), "The column "+column+" is not dropped",
				"What it holds would be lost on all nodes at once. Leave it in the configuration. If nobody needs it any more: drop it in the CQL console, and then take it out here.")
		case usual(kind) != usual(was):
			found.AddAttributeError(path.Root("columns"), "The type of "+column+" stays "+was,
				"The database does not change the type of a column that exists. Add a column of another name with the type "+kind+", and let the application write both.")
		case slices.Contains(statics, column) != slices.Contains(wereStatic, column):
			found.AddAttributeError(path.Root("static"), "Not possible", "Whether a column is static is said when it is added. Add one of another name.")
		}
	}
}

var (
	named   = regexp.MustCompile(`^[A-Za-z0-9_]{1,48}$`)
	writing = regexp.MustCompile(`^[A-Za-z0-9_<>, ."]+$`)
)

// sound refuses what no database would take.
func (t *table) sound(found *diag.Diagnostics) {
	if !named.MatchString(t.Name.ValueString()) {
		found.AddAttributeError(path.Root("name"), "Not a name", "Up to 48 letters, digits and underscores.")
	}
	columns := t.columns()
	for column, kind := range columns {
		if !writing.MatchString(kind) {
			found.AddAttributeError(path.Root("columns"), "Not a type", column+" has the type "+strconv.Quote(kind)+".")
		}
	}
	keys := append(plain.Texts(t.PartitionKey), plain.Texts(t.ClusteringKey)...)
	if len(plain.Texts(t.PartitionKey)) == 0 {
		found.AddAttributeError(path.Root("partition_key"), "No partition key", "At least one column says on which nodes a row is.")
	}
	for attribute, names := range map[string][]string{"partition_key": plain.Texts(t.PartitionKey), "clustering_key": plain.Texts(t.ClusteringKey), "static": plain.Texts(t.Static)} {
		for _, column := range names {
			if _, is := columns[column]; !is {
				found.AddAttributeError(path.Root(attribute), "No such column", "There is no "+column+" in columns.")
			}
		}
	}
	for _, column := range plain.Texts(t.Descending) {
		if !slices.Contains(plain.Texts(t.ClusteringKey), column) {
			found.AddAttributeError(path.Root("descending"), "Not possible", column+" is not in clustering_key.")
		}
	}
	for _, column := range plain.Texts(t.Static) {
		if slices.Contains(keys, column) {
			found.AddAttributeError(path.Root("static"), "Not possible", column+" is in the primary key.")
		}
	}
}

func (t *table) words() string { return t.Keyspace.ValueString() + "." + t.Name.ValueString() }

func (t *table) quoted() string {
	return name(t.Keyspace.ValueString()) + "." + name(t.Name.ValueString())
}

func (t *table) columns() map[string]string { return texts(t.Columns) }

func texts(of types.Map) map[string]string {
	found := map[string]string{}
	for key, one := range of.Elements() {
		if text, is := one.(types.String); is {
			found[key] = text.ValueString()
		}
	}
	return found
}

// usual is a type as every way to write it comes to.
func usual(kind string) string {
	kind = strings.ReplaceAll(strings.ToLower(kind), " ", "")
	return regexp.MustCompile(`\bvarchar\b`).ReplaceAllString(kind, "text")
}

func (t *table) create() string {
	lines := []string{}
	for _, column := range slices.Sorted(maps.Keys(t.columns())) {
		lines = append(lines, t.column(column))
	}
	quoted := func(of plain.Elements) string {
		names := plain.Texts(of)
		for index := range names {
			names[index] = name(names[index])
		}
		return strings.Join(names, ", ")
	}
	key, order := "("+quoted(t.PartitionKey)+")", ""
	if clustering := plain.Texts(t.ClusteringKey); len(clustering) > 0 {
		key += ", " + quoted(t.ClusteringKey)
		for index, column := range clustering {
			clustering[index] = name(column) + " ASC"
			if slices.Contains(plain.Texts(t.Descending), column) {
				clustering[index] = name(column) + " DESC"
			}
		}
		order = "CLUSTERING ORDER BY (" + strings.Join(clustering, ", ") + ")"
	}
	said := append([]string{}, t.options(table{})...)
	if order != "" {
		said = append([]string{order}, said...)
	}
	text := "CREATE TABLE " + t.quoted() + " (" + strings.Join(append(lines, "PRIMARY KEY ("+key+")"), ", ") + ")"
	if len(said) > 0 {
		text += " WITH " + strings.Join(said, " AND ")
	}
	return text
}

func (t *table) column(column string) string {
	text := name(column) + " " + t.columns()[column]
	if slices.Contains(plain.Texts(t.Static), column) {
		text += " STATIC"
	}
	return text
}

// alterations are the statements that make of the table that was the one that is wanted.
func (t *table) alterations(before table) []string {
	made := []string{}
	had := before.columns()
	for _, column := range slices.Sorted(maps.Keys(t.columns())) {
		if _, is := had[column]; !is {
			made = append(made, "ALTER TABLE "+t.quoted()+" ADD "+t.column(column))
		}
	}
	if options := t.options(before); len(options) > 0 {
		made = append(made, "ALTER TABLE "+t.quoted()+" WITH "+strings.Join(options, " AND "))
	}
	return made
}

// options are those that are said and are not so already.
func (t *table) options(before table) []string {
	made := []string{}
	if !t.Comment.IsNull() && !t.Comment.Equal(before.Comment) {
		made = append(made, "comment = "+text(t.Comment.ValueString()))
	}
	for _, one := range []struct {
		option  string
		is, was types.Int64
	}{{"default_time_to_live", t.DefaultTimeToLive, before.DefaultTimeToLive}, {"gc_grace_seconds", t.GCGraceSeconds, before.GCGraceSeconds}} {
		if !one.is.IsNull() && !one.is.Equal(one.was) {
			made = append(made, one.option+" = "+strconv.FormatInt(one.is.ValueInt64(), 10))
		}
	}
	for _, one := range []struct {
		option  string
		is, was types.Map
	}{{"compaction", t.Compaction, before.Compaction}, {"compression", t.Compression, before.Compression}, {"caching", t.Caching, before.Caching}} {
		if one.is.IsNull() || one.is.Equal(one.was) {
			continue
		}
		entries, wanted := []string{}, texts(one.is)
		for _, key := range slices.Sorted(maps.Keys(wanted)) {
			entries = append(entries, text(key)+": "+text(wanted[key]))
		}
		made = append(made, one.option+" = {"+strings.Join(entries, ", ")+"}")
	}
	return made
}

func (t *table) run(ctx context.Context, c *client.Client, text string, writes bool) ([][]*string, error) {
	return run(ctx, c, t.ClusterID.ValueString(), text, writes)
}

func (t *table) settle(ctx context.Context, c *client.Client) error {
	wanted := *t
	return agreed(ctx, func() error { return t.read(ctx, c) }, func() bool { return len(t.alterations(wanted)) == 0 && len(wanted.alterations(*t)) == 0 })
}

// read takes what there is. What the configuration writes in another way and means the same stays as it is written; of options, only
// those that are said are kept in the state, unless nothing is known yet: then it is imported, and takes all.
func (t *table) read(ctx context.Context, c *client.Client) error {
	where := " WHERE keyspace_name = " + text(t.Keyspace.ValueString()) + " AND table_name = " + text(t.Name.ValueString())
	found, err := t.run(ctx, c, "SELECT comment, default_time_to_live, gc_grace_seconds, compaction, compression, caching FROM system_schema.tables"+where, false)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return client.NotThere("table " + t.words())
	}
	columns, err := t.run(ctx, c, "SELECT column_name, type, kind, position, clustering_order FROM system_schema.columns"+where, false)
	if err != nil {
		return err
	}
	imported := t.Columns.IsNull()
	t.takeColumns(columns)
	row := found[0]
	if imported || !t.Comment.IsNull() {
		t.Comment = types.StringValue(value(row[0]))
	}
	for index, option := range []*types.Int64{&t.DefaultTimeToLive, &t.GCGraceSeconds} {
		if imported || !option.IsNull() {
			number, err := strconv.ParseInt(value(row[1+index]), 10, 64)
			if err != nil {
				return err
			}
			*option = types.Int64Value(number)
		}
	}
	for index, option := range []*types.Map{&t.Compaction, &t.Compression, &t.Caching} {
		if there := entries(value(row[3+index])); imported || !option.IsNull() && !within(texts(*option), there) {
			*option = mapOf(there)
		}
	}
	if t.DeletionProtection.IsNull() {
		t.DeletionProtection = types.BoolValue(true)
	}
	return nil
}

func (t *table) takeColumns(rows [][]*string) {
	kinds, written := map[string]string{}, t.columns()
	keys := map[string]map[int]string{"partition_key": {}, "clustering": {}}
	statics, descending := []string{}, []string{}
	for _, row := range rows {
		column, kind := value(row[0]), value(row[1])
		if had, is := written[column]; is && usual(had) == usual(kind) {
			kind = had
		}
		kinds[column] = kind
		position, _ := strconv.Atoi(value(row[3]))
		switch place := value(row[2]); place {
		case "static":
			statics = append(statics, column)
		case "partition_key", "clustering":
			keys[place][position] = column
			if strings.EqualFold(value(row[4]), "desc") {
				descending = append(descending, column)
			}
		}
	}
	t.Columns, t.PartitionKey = mapOf(kinds), listOf(keys["partition_key"])
	if len(keys["clustering"]) > 0 || !t.ClusteringKey.IsNull() {
		t.ClusteringKey = listOf(keys["clustering"])
	}
	if len(descending) > 0 || len(plain.Texts(t.Descending)) > 0 {
		t.Descending = plain.TextSet(descending)
	}
	if len(statics) > 0 || len(plain.Texts(t.Static)) > 0 {
		t.Static = plain.TextSet(statics)
	}
}

// within tells whether all that is written is so; of classes the last word counts, as the database takes them.
func within(written, there map[string]string) bool {
	for key, wanted := range written {
		found := there[key]
		if key == "class" {
			wanted, found = wanted[strings.LastIndex(wanted, ".")+1:], found[strings.LastIndex(found, ".")+1:]
		}
		if wanted != found {
			return false
		}
	}
	return true
}

func mapOf(of map[string]string) types.Map {
	values := map[string]attr.Value{}
	for key, one := range of {
		values[key] = types.StringValue(one)
	}
	return types.MapValueMust(types.StringType, values)
}

func listOf(of map[int]string) types.List {
	values := []attr.Value{}
	for position := range len(of) {
		values = append(values, types.StringValue(of[position]))
	}
	return types.ListValueMust(types.StringType, values)
}
