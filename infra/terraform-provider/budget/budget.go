// Package budget is the resource ringmaster_budget.
package budget

import (
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/defaults"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/setdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"ringmaster/terraform-provider/plain"
)

type model struct {
	ID               types.String `tfsdk:"id"`
	Name             types.String `tfsdk:"name"`
	Micros           types.Int64  `tfsdk:"micros"`
	ClusterID        types.String `tfsdk:"cluster_id"`
	TagKey           types.String `tfsdk:"tag_key"`
	TagValue         types.String `tfsdk:"tag_value"`
	SpentPercents    types.Set    `tfsdk:"spent_percents"`
	ForecastPercents types.Set    `tfsdk:"forecast_percents"`
}

type document struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Micros  int64  `json:"micros"`
	Cluster *struct {
		ID string `json:"id"`
	} `json:"cluster"`
	Tag *struct {
		Key   string `json:"key"`
		Value string `json:"value"`
	} `json:"tag"`
	SpentPercents    []int64 `json:"spent_percents"`
	ForecastPercents []int64 `json:"forecast_percents"`
}

// New makes the resource.
func New() resource.Resource {
	anew := []planmodifier.String{stringplanmodifier.RequiresReplace()}
	documents := plain.Documents[model, document]{At: "budgets", ID: (*model).id, Order: order, Change: body, Take: (*model).take}
	return documents.Of(plain.Kind[model]{
		Name: "budget",
		Schema: schema.Schema{
			MarkdownDescription: "What may be spent in a month: of the organisation, of a cluster (`cluster_id`), or of clusters with a tag (`tag_key`, `tag_value`). Alert receivers are told when it is reached, or will be. It stops nothing; ceilings do.",
			Attributes: map[string]schema.Attribute{
				"id":         plain.ID("bud"),
				"name":       schema.StringAttribute{Required: true, MarkdownDescription: "For people."},
				"micros":     schema.Int64Attribute{Required: true, MarkdownDescription: "For each month, in millionths of a US dollar: `250 * 1000000`."},
				"cluster_id": schema.StringAttribute{Optional: true, PlanModifiers: anew, MarkdownDescription: "Another one makes it anew."},
				"tag_key":    schema.StringAttribute{Optional: true, PlanModifiers: anew, MarkdownDescription: "Another one makes it anew."},
				"tag_value":  schema.StringAttribute{Optional: true, PlanModifiers: anew, MarkdownDescription: "Another one makes it anew."},
				"spent_percents": schema.SetAttribute{
					Optional: true, Computed: true, ElementType: types.Int64Type, Default: percents(50, 80, 100), MarkdownDescription: "Told when so much is spent. Default: 50, 80, 100.",
				},
				"forecast_percents": schema.SetAttribute{
					Optional: true, Computed: true, ElementType: types.Int64Type, Default: percents(100), MarkdownDescription: "Told when so much will be spent by the end of the month. Default: 100.",
				},
			},
		},
	}).Resource()
}

func percents(of ...int64) defaults.Set { return setdefault.StaticValue(plain.NumberSet(of)) }

func body(m *model) map[string]any {
	return map[string]any{
		"name": m.Name.ValueString(), "micros": m.Micros.ValueInt64(),
		"spent_percents": plain.Numbers(m.SpentPercents), "forecast_percents": plain.Numbers(m.ForecastPercents),
	}
}

func order(m *model) map[string]any {
	body := body(m)
	body["scope"] = "organisation"
	if id := plain.Text(m.ClusterID); id != nil {
		body["scope"], body["cluster_id"] = "cluster", *id
	}
	if key := plain.Text(m.TagKey); key != nil {
		body["scope"], body["tag_key"], body["tag_value"] = "tag", *key, m.TagValue.ValueString()
	}
	return body
}

func (m *model) id() string { return m.ID.ValueString() }

func (m *model) take(of document) {
	m.ID, m.Name, m.Micros = types.StringValue(of.ID), types.StringValue(of.Name), types.Int64Value(of.Micros)
	m.ClusterID, m.TagKey, m.TagValue = types.StringNull(), types.StringNull(), types.StringNull()
	if of.Cluster != nil {
		m.ClusterID = types.StringValue(of.Cluster.ID)
	}
	if of.Tag != nil {
		m.TagKey, m.TagValue = types.StringValue(of.Tag.Key), types.StringValue(of.Tag.Value)
	}
	m.SpentPercents, m.ForecastPercents = plain.NumberSet(of.SpentPercents), plain.NumberSet(of.ForecastPercents)
}
