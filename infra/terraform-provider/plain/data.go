package plain

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"

	"ringmaster/terraform-provider/client"
)

// Data is one sort of data source; M is its model.
type Data[M any] struct {
	// Name is without ringmaster_: connection.
	Name   string
	Schema schema.Schema
	// Read fills the model from what the configuration says of it.
	Read func(context.Context, *client.Client, *M) error
}

// DataSource makes what Terraform asks for.
func (d Data[M]) DataSource() datasource.DataSource { return &data[M]{kind: d} }

type data[M any] struct {
	kind   Data[M]
	client *client.Client
}

func (d *data[M]) Metadata(_ context.Context, request datasource.MetadataRequest, response *datasource.MetadataResponse) {
	response.TypeName = request.ProviderTypeName + "_" + d.kind.Name
}

func (d *data[M]) Schema(_ context.Context, _ datasource.SchemaRequest, response *datasource.SchemaResponse) {
	response.Schema = d.kind.Schema
}

func (d *data[M]) Configure(_ context.Context, request datasource.ConfigureRequest, _ *datasource.ConfigureResponse) {
	d.client, _ = request.ProviderData.(*client.Client)
}

func (d *data[M]) Read(ctx context.Context, request datasource.ReadRequest, response *datasource.ReadResponse) {
	var model M
	if response.Diagnostics.Append(request.Config.Get(ctx, &model)...); response.Diagnostics.HasError() {
		return
	}
	if err := d.kind.Read(ctx, d.client, &model); err != nil {
		Refused(&response.Diagnostics, "Not read", err)
		return
	}
	response.Diagnostics.Append(response.State.Set(ctx, &model)...)
}
