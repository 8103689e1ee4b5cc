// Package notificationchannel is the resource ringmaster_notification_channel.
package notificationchannel

import (
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/setplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"ringmaster/terraform-provider/plain"
)

type model struct {
	ID         types.String `tfsdk:"id"`
	Name       types.String `tfsdk:"name"`
	Kind       types.String `tfsdk:"kind"`
	Addresses  types.Set    `tfsdk:"addresses"`
	URL        types.String `tfsdk:"url"`
	RoutingKey types.String `tfsdk:"routing_key"`
	Topics     types.Set    `tfsdk:"topics"`
	Severity   types.String `tfsdk:"severity"`
	ClusterIDs types.Set    `tfsdk:"cluster_ids"`
	Enabled    types.Bool   `tfsdk:"enabled"`
	Target     types.String `tfsdk:"target"`
}

type document struct {
	ID         string   `json:"id"`
	Name       string   `json:"name"`
	Kind       string   `json:"kind"`
	Target     string   `json:"target"`
	Topics     []string `json:"topics"`
	Severity   string   `json:"severity"`
	ClusterIDs []string `json:"cluster_ids"`
	Enabled    bool     `json:"enabled"`
}

// New makes the resource.
func New() resource.Resource {
	anew := []planmodifier.String{stringplanmodifier.RequiresReplace()}
	documents := plain.Documents[model, document]{At: "alert-receivers", ID: (*model).id, Order: order, Change: body, Take: (*model).take}
	return documents.Of(plain.Kind[model]{
		Name: "notification_channel",
		Schema: schema.Schema{
			MarkdownDescription: "Who is told of alerts, budgets and operations. What signs a webhook's messages is shown when a new secret is made in the console, and never is in Terraform's state.",
			Attributes: map[string]schema.Attribute{
				"id":          plain.ID("rcv"),
				"name":        schema.StringAttribute{Required: true, MarkdownDescription: "For people."},
				"kind":        plain.Anew("`email`, `slack`, `webhook` or `pagerduty`."),
				"addresses":   schema.SetAttribute{Optional: true, ElementType: types.StringType, PlanModifiers: []planmodifier.Set{setplanmodifier.RequiresReplace()}, MarkdownDescription: "`email`: who gets it."},
				"url":         schema.StringAttribute{Optional: true, Sensitive: true, PlanModifiers: anew, MarkdownDescription: "`slack`, `webhook`: where to post. It is in the state: whoever has it can post there."},
				"routing_key": schema.StringAttribute{Optional: true, Sensitive: true, PlanModifiers: anew, MarkdownDescription: "`pagerduty`: of the service's integration. It is in the state."},
				"topics":      plain.Topics("alerts", "budgets"),
				"severity":    schema.StringAttribute{Optional: true, Computed: true, Default: stringdefault.StaticString("info"), MarkdownDescription: "The least severe that is told: `info`, `warning`, `critical`. Default: `info`."},
				"cluster_ids": schema.SetAttribute{Optional: true, ElementType: types.StringType, MarkdownDescription: "Only of these; left out: of all."},
				"enabled":     schema.BoolAttribute{Optional: true, Computed: true, Default: booldefault.StaticBool(true), MarkdownDescription: "Default: true."},
				"target":      schema.StringAttribute{Computed: true, PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()}, MarkdownDescription: "Where to, without what is secret in it."},
			},
		},
	}).Resource()
}

func body(m *model) map[string]any {
	return map[string]any{
		"name": m.Name.ValueString(), "topics": plain.Texts(m.Topics), "severity": m.Severity.ValueString(), "cluster_ids": plain.Texts(m.ClusterIDs), "enabled": m.Enabled.ValueBool(),
	}
}

func order(m *model) map[string]any {
	body := body(m)
	body["kind"], body["addresses"], body["url"], body["routing_key"] = m.Kind.ValueString(), plain.Texts(m.Addresses), plain.Text(m.URL), plain.Text(m.RoutingKey)
	return body
}

func (m *model) id() string { return m.ID.ValueString() }

func (m *model) take(of document) {
	m.ID, m.Name, m.Kind, m.Target = types.StringValue(of.ID), types.StringValue(of.Name), types.StringValue(of.Kind), types.StringValue(of.Target)
	m.Topics = plain.TextSet(of.Topics)
	m.Severity, m.ClusterIDs, m.Enabled = types.StringValue(of.Severity), plain.TextSet(of.ClusterIDs), types.BoolValue(of.Enabled)
}
