// Package cloudaccount is the resource ringmaster_cloud_account.
package cloudaccount

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/boolplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/mapplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"ringmaster/terraform-provider/client"
	"ringmaster/terraform-provider/plain"
)

type model struct {
	ID              types.String `tfsdk:"id"`
	Name            types.String `tfsdk:"name"`
	Cloud           types.String `tfsdk:"cloud"`
	RoleARN         types.String `tfsdk:"role_arn"`
	Project         types.String `tfsdk:"project"`
	PublicAddresses types.Bool   `tfsdk:"public_addresses"`
	Networks        types.String `tfsdk:"networks"`
	VPCs            types.Map    `tfsdk:"vpcs"`
	ExternalID      types.String `tfsdk:"external_id"`
}

type document struct {
	ID         string   `json:"id"`
	Name       string   `json:"name"`
	Provider   string   `json:"provider"`
	RoleARN    *string  `json:"role_arn"`
	Project    *string  `json:"project"`
	ExternalID string   `json:"external_id"`
	Settings   settings `json:"settings"`
}

type settings struct {
	PublicAddresses bool              `json:"public_addresses"`
	Networks        *string           `json:"networks"`
	VPCs            map[string]string `json:"vpcs"`
}

// New makes the resource.
func New() resource.Resource {
	anew := []planmodifier.String{stringplanmodifier.RequiresReplace()}
	documents := plain.Documents[model, document]{At: "cloud-accounts", ID: (*model).id, Change: change, Take: (*model).take}
	kind := documents.Of(plain.Kind[model]{
		Name: "cloud_account",
		Schema: schema.Schema{
			MarkdownDescription: "An account at AWS or Google Cloud in which clusters are made. One that has clusters is not removed: the server refuses. It need not work yet when it is made: the role may want `external_id` first.",
			Attributes: map[string]schema.Attribute{
				"id":               plain.ID("acc"),
				"name":             schema.StringAttribute{Required: true, MarkdownDescription: "For people; unique in the organisation."},
				"cloud":            plain.Anew("`aws` or `gcp`."),
				"role_arn":         schema.StringAttribute{Optional: true, PlanModifiers: anew, MarkdownDescription: "aws: the role that is taken on. Another one makes it anew."},
				"project":          schema.StringAttribute{Optional: true, PlanModifiers: anew, MarkdownDescription: "gcp: id of the project. Another one makes it anew."},
				"public_addresses": schema.BoolAttribute{Optional: true, Computed: true, Default: booldefault.StaticBool(false), PlanModifiers: []planmodifier.Bool{boolplanmodifier.RequiresReplace()}, MarkdownDescription: "Machines get one. Default: false."},
				"networks":         schema.StringAttribute{Optional: true, PlanModifiers: anew, MarkdownDescription: "IPv4 block that clusters' networks are cut from."},
				"vpcs":             schema.MapAttribute{Optional: true, ElementType: types.StringType, PlanModifiers: []planmodifier.Map{mapplanmodifier.RequiresReplace()}, MarkdownDescription: "aws: VPCs of yours to use, by region."},
				"external_id":      schema.StringAttribute{Computed: true, PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()}, MarkdownDescription: "aws: what the role's trust must ask for."},
			},
		},
	})
	kind.Create = create
	return kind.Resource()
}

// create takes the account out of an answer that also names the check, which goes on by itself: it cannot succeed before the role
// knows the external id.
func create(ctx context.Context, c *client.Client, m *model) (string, error) {
	given := map[string]any{"public_addresses": m.PublicAddresses.ValueBool(), "networks": plain.Text(m.Networks), "vpcs": texts(m.VPCs)}
	body := map[string]any{
		"name": m.Name.ValueString(), "provider": m.Cloud.ValueString(), "role_arn": plain.Text(m.RoleARN), "project": plain.Text(m.Project), "settings": given,
	}
	var begun struct {
		CloudAccount document `json:"cloud_account"`
	}
	err := c.Post(ctx, "/cloud-accounts", body, &begun)
	m.take(begun.CloudAccount)
	return "", err
}

func change(m *model) map[string]any { return map[string]any{"name": m.Name.ValueString()} }

func (m *model) id() string { return m.ID.ValueString() }

func texts(of types.Map) map[string]string {
	found := map[string]string{}
	for name, one := range of.Elements() {
		if text, is := one.(types.String); is {
			found[name] = text.ValueString()
		}
	}
	return found
}

func (m *model) take(of document) {
	m.ID, m.Name, m.Cloud, m.ExternalID = types.StringValue(of.ID), types.StringValue(of.Name), types.StringValue(of.Provider), types.StringValue(of.ExternalID)
	m.RoleARN, m.Project = types.StringPointerValue(of.RoleARN), types.StringPointerValue(of.Project)
	m.PublicAddresses, m.Networks = types.BoolValue(of.Settings.PublicAddresses), types.StringPointerValue(of.Settings.Networks)
	if len(of.Settings.VPCs) > 0 || !m.VPCs.IsNull() {
		values := map[string]attr.Value{}
		for name, one := range of.Settings.VPCs {
			values[name] = types.StringValue(one)
		}
		m.VPCs = types.MapValueMust(types.StringType, values)
	}
}
