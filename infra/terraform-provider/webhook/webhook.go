// Package webhook is the resource ringmaster_webhook.
package webhook

import (
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"ringmaster/terraform-provider/plain"
)

type model struct {
	ID         types.String `tfsdk:"id"`
	Name       types.String `tfsdk:"name"`
	URL        types.String `tfsdk:"url"`
	Topics     types.Set    `tfsdk:"topics"`
	Severity   types.String `tfsdk:"severity"`
	ClusterIDs types.Set    `tfsdk:"cluster_ids"`
	Enabled    types.Bool   `tfsdk:"enabled"`
	Target     types.String `tfsdk:"target"`
}

type document struct {
	ID         string   `json:"id"`
	Name       string   `json:"name"`
	Target     string   `json:"target"`
	Topics     []string `json:"topics"`
	Severity   string   `json:"severity"`
	ClusterIDs []string `json:"cluster_ids"`
	Enabled    bool     `json:"enabled"`
}

// New makes the resource.
func New() resource.Resource {
	documents := plain.Documents[model, document]{At: "alert-receivers", ID: (*model).id, Order: order, Change: body, Take: (*model).take}
	return documents.Of(plain.Kind[model]{
		Name: "webhook",
		Schema: schema.Schema{
			MarkdownDescription: "Posts what becomes of operations, alerts and budgets, as signed JSON. The secret that signs never is in Terraform's state: make a new one with `ringmaster rotate-alert-receiver-secret` or in the console, where it is shown once.",
			Attributes: map[string]schema.Attribute{
				"id":          plain.ID("rcv"),
				"name":        schema.StringAttribute{Required: true, MarkdownDescription: "For people."},
				"url":         schema.StringAttribute{Required: true, Sensitive: true, PlanModifiers: []planmodifier.String{stringplanmodifier.RequiresReplace()}, MarkdownDescription: "Where to post. It is in the state: whoever has it can post there. Another one makes it anew."},
				"topics":      plain.Topics("operations"),
				"severity":    schema.StringAttribute{Optional: true, Computed: true, Default: stringdefault.StaticString("info"), MarkdownDescription: "The least severe that is told: `info`, `warning`, `critical`. Operations that are stuck or failed are warnings. Default: `info`."},
				"cluster_ids": schema.SetAttribute{Optional: true, ElementType: types.StringType, MarkdownDescription: "Only of these; left out: of all."},
				"enabled":     schema.BoolAttribute{Optional: true, Computed: true, Default: booldefault.StaticBool(true), MarkdownDescription: "Default: true."},
				"target":      schema.StringAttribute{Computed: true, PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()}, MarkdownDescription: "Where to, without what is secret in it."},
			},
		},
	}).Resource()
}

func order(m *model) map[string]any {
	body := body(m)
	body["kind"], body["url"] = "webhook", m.URL.ValueString()
	return body
}

func body(m *model) map[string]any {
	return map[string]any{
		"name": m.Name.ValueString(), "topics": plain.Texts(m.Topics), "severity": m.Severity.ValueString(),
		"cluster_ids": plain.Texts(m.ClusterIDs), "enabled": m.Enabled.ValueBool(),
	}
}

func (m *model) id() string { return m.ID.ValueString() }

func (m *model) take(of document) {
	m.ID, m.Name, m.Target = types.StringValue(of.ID), types.StringValue(of.Name), types.StringValue(of.Target)
	m.Topics, m.Severity, m.ClusterIDs = plain.TextSet(of.Topics), types.StringValue(of.Severity), plain.TextSet(of.ClusterIDs)
	m.Enabled = types.BoolValue(of.Enabled)
}
