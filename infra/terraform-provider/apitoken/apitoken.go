// Package apitoken is the ephemeral resource ringmaster_api_token.
package apitoken

import (
	"context"
	"encoding/json"

	"github.com/hashicorp/terraform-plugin-framework/ephemeral"
	"github.com/hashicorp/terraform-plugin-framework/ephemeral/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"ringmaster/terraform-provider/client"
	"ringmaster/terraform-provider/plain"
)

type token struct{ client *client.Client }

type model struct {
	Name   types.String `tfsdk:"name"`
	Scopes types.Set    `tfsdk:"scopes"`
	ID     types.String `tfsdk:"id"`
	Secret types.String `tfsdk:"secret"`
}

// New makes the ephemeral resource.
func New() ephemeral.EphemeralResource { return &token{} }

func (t *token) Metadata(_ context.Context, request ephemeral.MetadataRequest, response *ephemeral.MetadataResponse) {
	response.TypeName = request.ProviderTypeName + "_api_token"
}

func (t *token) Schema(_ context.Context, _ ephemeral.SchemaRequest, response *ephemeral.SchemaResponse) {
	response.Schema = schema.Schema{
		MarkdownDescription: "An API token for the time of a run: it is revoked when the run ends, and is in no state and no plan.",
		Attributes: map[string]schema.Attribute{
			"name":   schema.StringAttribute{Required: true, MarkdownDescription: "For people."},
			"scopes": schema.SetAttribute{Required: true, ElementType: types.StringType, MarkdownDescription: "`clusters:read` …"},
			"id":     schema.StringAttribute{Computed: true, MarkdownDescription: "`tok_…`"},
			"secret": schema.StringAttribute{Computed: true, Sensitive: true, MarkdownDescription: "The token itself."},
		},
	}
}

func (t *token) Configure(_ context.Context, request ephemeral.ConfigureRequest, _ *ephemeral.ConfigureResponse) {
	t.client, _ = request.ProviderData.(*client.Client)
}

func (t *token) Open(ctx context.Context, request ephemeral.OpenRequest, response *ephemeral.OpenResponse) {
	var wanted model
	if response.Diagnostics.Append(request.Config.Get(ctx, &wanted)...); response.Diagnostics.HasError() {
		return
	}
	var made struct {
		Token  struct{ ID string } `json:"token"`
		Secret string              `json:"secret"`
	}
	// Should nobody close it, because the run is killed, it ends by itself.
	body := map[string]any{"name": wanted.Name.ValueString(), "scopes": plain.Texts(wanted.Scopes), "expires_in_days": 1}
	if err := t.client.Post(ctx, "/tokens", body, &made); err != nil {
		plain.Refused(&response.Diagnostics, "Not made", err)
		return
	}
	wanted.ID, wanted.Secret = types.StringValue(made.Token.ID), types.StringValue(made.Secret)
	id, _ := json.Marshal(made.Token.ID)
	response.Diagnostics.Append(response.Private.SetKey(ctx, "id", id)...)
	response.Diagnostics.Append(response.Result.Set(ctx, &wanted)...)
}

func (t *token) Close(ctx context.Context, request ephemeral.CloseRequest, response *ephemeral.CloseResponse) {
	content, found := request.Private.GetKey(ctx, "id")
	var id string
	if response.Diagnostics.Append(found...); response.Diagnostics.HasError() || json.Unmarshal(content, &id) != nil {
		return
	}
	if err := t.client.Delete(ctx, client.Path("tokens", id), nil, nil); err != nil && !client.Missing(err) {
		plain.Refused(&response.Diagnostics, "Not revoked", err)
	}
}

var _ ephemeral.EphemeralResourceWithClose = (*token)(nil)
