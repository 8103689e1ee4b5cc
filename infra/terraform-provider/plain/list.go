package plain

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"ringmaster/terraform-provider/client"
)

// Document is a JSON object as the API answers it.
type Document = map[string]any

// List is a data source of all that a list of the API holds. It tells what its columns name, and nothing else of an answer.
type List struct {
	// Name is without ringmaster_, and is the attribute that holds the list: budgets.
	Name, About string
	// Listed is where the API lists them, below /api/v1. With {cluster_id} in it the configuration says of which cluster.
	Listed string
	// In is the key of an answer without pages: entries. Empty: all pages are read.
	In string
	// Filters are attributes that the API takes in its query.
	Filters []Filter
	Columns []Column
	// Each makes of an item those that are told: none, itself, or several. Nil: itself.
	Each func(Document) []Document
}

// Filter is an attribute that narrows a list.
type Filter struct {
	// Name is the attribute, Query what the API calls it.
	Name, Query, About string
	Required           bool
}

// Column is an attribute of each item.
type Column struct {
	Name string
	// Type is of texts, whole numbers, numbers and flags; lists and maps of them.
	Type  attr.Type
	About string
	// Keys are those under which the API tells it, from the outermost; none: Name.
	Keys []string
}

// From is the column, told under other keys than its name.
func (c Column) From(keys ...string) Column {
	c.Keys = keys
	return c
}

const clusterID = "cluster_id"

// DataSource makes what Terraform asks for.
func (l List) DataSource() datasource.DataSource { return &list{kind: l} }

type list struct {
	kind   List
	client *client.Client
}

func (l *list) Metadata(_ context.Context, request datasource.MetadataRequest, response *datasource.MetadataResponse) {
	response.TypeName = request.ProviderTypeName + "_" + l.kind.Name
}

func (l *list) Configure(_ context.Context, request datasource.ConfigureRequest, _ *datasource.ConfigureResponse) {
	l.client, _ = request.ProviderData.(*client.Client)
}

func (l *list) Schema(_ context.Context, _ datasource.SchemaRequest, response *datasource.SchemaResponse) {
	inner := map[string]schema.Attribute{}
	for _, one := range l.kind.Columns {
		inner[one.Name] = one.attribute()
	}
	attributes := map[string]schema.Attribute{l.kind.Name: schema.ListNestedAttribute{
		Computed: true, MarkdownDescription: "Those that there are.", NestedObject: schema.NestedAttributeObject{Attributes: inner},
	}}
	if l.ofCluster() {
		attributes[clusterID] = schema.StringAttribute{Required: true, MarkdownDescription: "Id of the cluster, `clu_…`."}
	}
	for _, one := range l.kind.Filters {
		about := one.About
		if !one.Required {
			about += " Left out: all."
		}
		attributes[one.Name] = schema.StringAttribute{Required: one.Required, Optional: !one.Required, MarkdownDescription: about}
	}
	response.Schema = schema.Schema{MarkdownDescription: l.kind.About, Attributes: attributes}
}

func (l *list) ofCluster() bool { return strings.Contains(l.kind.Listed, "{"+clusterID+"}") }

func (c Column) attribute() schema.Attribute {
	switch kind := c.Type.(type) {
	case types.ListType:
		return schema.ListAttribute{Computed: true, ElementType: kind.ElemType, MarkdownDescription: c.About}
	case types.MapType:
		return schema.MapAttribute{Computed: true, ElementType: kind.ElemType, MarkdownDescription: c.About}
	}
	switch c.Type {
	case types.Int64Type:
		return schema.Int64Attribute{Computed: true, MarkdownDescription: c.About}
	case types.Float64Type:
		return schema.Float64Attribute{Computed: true, MarkdownDescription: c.About}
	case types.BoolType:
		return schema.BoolAttribute{Computed: true, MarkdownDescription: c.About}
	}
	return schema.StringAttribute{Computed: true, MarkdownDescription: c.About}
}

func (l *list) Read(ctx context.Context, request datasource.ReadRequest, response *datasource.ReadResponse) {
	found := &response.Diagnostics
	said := func(name string) string {
		var value types.String
		found.Append(request.Config.GetAttribute(ctx, path.Root(name), &value)...)
		return value.ValueString()
	}
	words := strings.Split(l.kind.Listed, "/")
	for index, word := range words {
		if word == "{"+clusterID+"}" {
			if words[index] = said(clusterID); words[index] == "" {
				found.AddAttributeError(path.Root(clusterID), "No cluster", "It is empty, and must be the id of a cluster, clu_….")
			}
		}
	}
	query := url.Values{}
	for _, one := range l.kind.Filters {
		if value := said(one.Name); value != "" {
			query.Set(one.Query, value)
		}
	}
	if found.HasError() {
		return
	}
	items, err := l.items(ctx, client.Path(words...), query)
	if err != nil {
		Refused(found, "Not read", err)
		return
	}
	kind := types.ObjectType{AttrTypes: map[string]attr.Type{}}
	for _, one := range l.kind.Columns {
		kind.AttrTypes[one.Name] = one.Type
	}
	rows := []attr.Value{}
	for _, item := range items {
		told := []Document{item}
		if l.kind.Each != nil {
			told = l.kind.Each(item)
		}
		for _, one := range told {
			values := map[string]attr.Value{}
			for _, column := range l.kind.Columns {
				if values[column.Name], err = column.of(one); err != nil {
					found.AddError("Not read", err.Error())
					return
				}
			}
			rows = append(rows, types.ObjectValueMust(kind.AttrTypes, values))
		}
	}
	response.State.Raw = request.Config.Raw
	found.Append(response.State.SetAttribute(ctx, path.Root(l.kind.Name), types.ListValueMust(kind, rows))...)
}

func (l *list) items(ctx context.Context, at string, query url.Values) ([]Document, error) {
	if l.kind.In == "" {
		return client.Every[Document](ctx, l.client, at, query)
	}
	var answer map[string]any
	if err := l.client.Get(ctx, at, &answer); err != nil {
		return nil, err
	}
	return Inner(answer, l.kind.In), nil
}

// Inner are the objects of a list within one.
func Inner(of Document, key string) []Document {
	found := []Document{}
	all, _ := of[key].([]any)
	for _, one := range all {
		if item, is := one.(Document); is {
			found = append(found, item)
		}
	}
	return found
}

func (c Column) of(item Document) (attr.Value, error) {
	keys := c.Keys
	if len(keys) == 0 {
		keys = []string{c.Name}
	}
	var now any = item
	for _, key := range keys {
		inner, _ := now.(Document)
		now = inner[key] // nothing within nothing
	}
	value, is := told(c.Type, now)
	if !is {
		return nil, fmt.Errorf("the API tells %s as %v, which this version of the provider cannot read", strings.Join(keys, "."), now)
	}
	return value, nil
}

// told is what a JSON value is as a type; false: it is not of that type.
func told(kind attr.Type, of any) (attr.Value, bool) {
	switch as := kind.(type) {
	case types.ListType:
		all, is := of.([]any)
		if of == nil {
			return types.ListNull(as.ElemType), true
		}
		values := make([]attr.Value, len(all))
		for index, one := range all {
			var right bool
			values[index], right = told(as.ElemType, one)
			is = is && right
		}
		if !is {
			return nil, false
		}
		return types.ListValueMust(as.ElemType, values), true
	case types.MapType:
		all, is := of.(Document)
		if of == nil {
			return types.MapNull(as.ElemType), true
		}
		values := map[string]attr.Value{}
		for key, one := range all {
			var right bool
			values[key], right = told(as.ElemType, one)
			is = is && right
		}
		if !is {
			return nil, false
		}
		return types.MapValueMust(as.ElemType, values), true
	}
	switch kind {
	case types.Int64Type:
		number, is := of.(float64)
		if of == nil {
			return types.Int64Null(), true
		}
		return types.Int64Value(int64(number)), is
	case types.Float64Type:
		number, is := of.(float64)
		if of == nil {
			return types.Float64Null(), true
		}
		return types.Float64Value(number), is
	case types.BoolType:
		flag, is := of.(bool)
		if of == nil {
			return types.BoolNull(), true
		}
		return types.BoolValue(flag), is
	}
	text, is := of.(string)
	if of == nil {
		return types.StringNull(), true
	}
	return types.StringValue(text), is
}
