// Package alertrule is the resource ringmaster_alert_rule.
package alertrule

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"ringmaster/terraform-provider/client"
	"ringmaster/terraform-provider/plain"
)

type model struct {
	ClusterID  types.String  `tfsdk:"cluster_id"`
	Rule       types.String  `tfsdk:"rule"`
	Threshold  types.Float64 `tfsdk:"threshold"`
	ForSeconds types.Int64   `tfsdk:"for_seconds"`
	Enabled    types.Bool    `tfsdk:"enabled"`
}

// change goes back to the usual where it says null.
type change struct {
	Threshold  *float64 `json:"threshold"`
	ForSeconds *int64   `json:"for_seconds"`
	Enabled    *bool    `json:"enabled"`
}

type rule struct {
	Rule              string   `json:"rule"`
	Threshold         *float64 `json:"threshold"`
	ForSeconds        int64    `json:"for_seconds"`
	DefaultForSeconds int64    `json:"default_for_seconds"`
	Enabled           bool     `json:"enabled"`
	ThresholdFacts    *struct {
		Default float64 `json:"default"`
	} `json:"threshold_facts"`
}

// New makes the resource.
func New() resource.Resource {
	return plain.Kind[model]{
		Name: "alert_rule",
		Schema: schema.Schema{
			MarkdownDescription: "What is otherwise than usual about one of a cluster's alert rules. What is left out is as usual; so is all of it when the resource is removed.",
			Attributes: map[string]schema.Attribute{
				"cluster_id":  plain.Cluster(),
				"rule":        plain.Anew("As the page of alerts and `list_alert_rules` name it: `node-down`."),
				"threshold":   schema.Float64Attribute{Optional: true, MarkdownDescription: "In the unit of the rule."},
				"for_seconds": schema.Int64Attribute{Optional: true, MarkdownDescription: "So long it must be so before it fires."},
				"enabled":     schema.BoolAttribute{Optional: true, MarkdownDescription: "false: it never fires."},
			},
		},
		Import: []string{"cluster_id", "rule"},
		Create: func(ctx context.Context, c *client.Client, m *model) (string, error) {
			return "", set(ctx, c, m, wanted(m))
		},
		Read: func(ctx context.Context, c *client.Client, m *model) error {
			var all struct {
				Items []rule `json:"items"`
			}
			if err := c.Get(ctx, client.Path("clusters", m.ClusterID.ValueString(), "alert-rules"), &all); err != nil {
				return err
			}
			for _, one := range all.Items {
				if one.Rule == m.Rule.ValueString() {
					m.take(one)
					return nil
				}
			}
			return client.NotThere("rule " + m.Rule.ValueString())
		},
		Update: func(ctx context.Context, c *client.Client, m *model, _ model) (string, error) {
			return "", set(ctx, c, m, wanted(m))
		},
		Delete: func(ctx context.Context, c *client.Client, m *model) (string, error) {
			return "", set(ctx, c, m, change{})
		},
	}.Resource()
}

func wanted(m *model) change {
	return change{m.Threshold.ValueFloat64Pointer(), m.ForSeconds.ValueInt64Pointer(), m.Enabled.ValueBoolPointer()}
}

func set(ctx context.Context, c *client.Client, m *model, to change) error {
	return c.Patch(ctx, client.Path("clusters", m.ClusterID.ValueString(), "alert-rules", m.Rule.ValueString()), to, nil)
}

// take says nothing of what is as usual, unless the configuration does.
func (m *model) take(of rule) {
	if of.Threshold != nil && of.ThresholdFacts != nil && (!m.Threshold.IsNull() || *of.Threshold != of.ThresholdFacts.Default) {
		m.Threshold = types.Float64Value(*of.Threshold)
	}
	if !m.ForSeconds.IsNull() || of.ForSeconds != of.DefaultForSeconds {
		m.ForSeconds = types.Int64Value(of.ForSeconds)
	}
	if !m.Enabled.IsNull() || !of.Enabled {
		m.Enabled = types.BoolValue(of.Enabled)
	}
}
