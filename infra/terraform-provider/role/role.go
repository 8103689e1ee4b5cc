// Package role is the resource ringmaster_role.
package role

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"ringmaster/terraform-provider/plain"
)

type model struct {
	ID          types.String `tfsdk:"id"`
	Name        types.String `tfsdk:"name"`
	Description types.String `tfsdk:"description"`
	Permissions types.Set    `tfsdk:"permissions"`
	Tags        types.Map    `tfsdk:"tags"`
}

type document struct {
	ID          string              `json:"id"`
	Name        string              `json:"name"`
	Description string              `json:"description"`
	Permissions []string            `json:"permissions"`
	Tags        map[string][]string `json:"tags"`
}

var values = types.SetType{ElemType: types.StringType}

// New makes the resource.
func New() resource.Resource {
	documents := plain.Documents[model, document]{At: "organisation/roles", ID: (*model).id, Order: body, Change: body, Take: (*model).take}
	return documents.Of(plain.Kind[model]{
		Name: "role",
		Schema: schema.Schema{
			MarkdownDescription: "A role of the organisation's own: permissions, for all clusters or those with certain tags. A role of a database is `ringmaster_cql_role`. Who holds it has what it becomes at once; one that is held is not removed.",
			Attributes: map[string]schema.Attribute{
				"id":          plain.ID("rol"),
				"name":        schema.StringAttribute{Required: true, MarkdownDescription: "1 to 60 characters, the only one of its name."},
				"description": schema.StringAttribute{Optional: true, Computed: true, Default: stringdefault.StaticString(""), MarkdownDescription: "For people, at most 300 characters."},
				"permissions": schema.SetAttribute{Required: true, ElementType: types.StringType, MarkdownDescription: "`clusters:read`, `operations:write` …; only what the token's owner holds."},
				"tags":        schema.MapAttribute{Optional: true, ElementType: values, MarkdownDescription: "Only for clusters that have one of the values of each key: `{ env = [\"dev\", \"test\"] }`. Left out: for all."},
			},
		},
	}).Resource()
}

func body(m *model) map[string]any {
	body := map[string]any{
		"name": m.Name.ValueString(), "description": m.Description.ValueString(), "permissions": plain.Texts(m.Permissions), "tags": nil,
	}
	if !m.Tags.IsNull() {
		tags := map[string][]string{}
		for key, one := range m.Tags.Elements() {
			tags[key] = plain.Texts(one.(types.Set))
		}
		body["tags"] = tags
	}
	return body
}

func (m *model) id() string { return m.ID.ValueString() }

func (m *model) take(of document) {
	m.ID, m.Name, m.Description = types.StringValue(of.ID), types.StringValue(of.Name), types.StringValue(of.Description)
	m.Permissions, m.Tags = plain.TextSet(of.Permissions), types.MapNull(values)
	if of.Tags != nil {
		m.Tags, _ = types.MapValueFrom(context.Background(), values, of.Tags)
	}
}
