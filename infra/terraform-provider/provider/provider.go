// Package provider joins what Terraform can manage of Ringmaster.
package provider

import (
	"context"
	"os"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/ephemeral"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"ringmaster/terraform-provider/accesssettings"
	"ringmaster/terraform-provider/alertrule"
	"ringmaster/terraform-provider/allowlistentry"
	"ringmaster/terraform-provider/apitoken"
	"ringmaster/terraform-provider/backup"
	"ringmaster/terraform-provider/backuplocation"
	"ringmaster/terraform-provider/backupschedule"
	"ringmaster/terraform-provider/budget"
	"ringmaster/terraform-provider/catalogue"
	"ringmaster/terraform-provider/client"
	"ringmaster/terraform-provider/cloudaccount"
	"ringmaster/terraform-provider/cluster"
	"ringmaster/terraform-provider/connection"
	"ringmaster/terraform-provider/cqlgrant"
	"ringmaster/terraform-provider/cqlrole"
	"ringmaster/terraform-provider/cqlschema"
	"ringmaster/terraform-provider/drillschedule"
	"ringmaster/terraform-provider/grouprole"
	"ringmaster/terraform-provider/inventory"
	"ringmaster/terraform-provider/lists"
	"ringmaster/terraform-provider/logarchive"
	"ringmaster/terraform-provider/member"
	"ringmaster/terraform-provider/networkconnection"
	"ringmaster/terraform-provider/notificationchannel"
	"ringmaster/terraform-provider/repairschedule"
	"ringmaster/terraform-provider/restore"
	"ringmaster/terraform-provider/role"
	"ringmaster/terraform-provider/serviceaccount"
	"ringmaster/terraform-provider/webhook"
)

// Address is how configurations name the provider. The host is nobody's, so that Terraform takes it from where it was
// installed and never fetches another of that name.
const Address = "ringmaster.internal/ringmaster/ringmaster"

type ringmaster struct{ version string }

// New makes a provider of a version.
func New(version string) func() provider.Provider {
	return func() provider.Provider { return &ringmaster{version} }
}

func (r *ringmaster) Metadata(_ context.Context, _ provider.MetadataRequest, response *provider.MetadataResponse) {
	response.TypeName, response.Version = "ringmaster", r.version
}

func (r *ringmaster) Schema(_ context.Context, _ provider.SchemaRequest, response *provider.SchemaResponse) {
	response.Schema = schema.Schema{
		MarkdownDescription: "Orders CQL database clusters from a Ringmaster installation, and keeps them as the configuration says. " +
			"Nothing that holds data is ever replaced: what cannot be changed in place is refused when it is planned, with the server's reason.",
		Attributes: map[string]schema.Attribute{
			"url": schema.StringAttribute{
				Optional: true, MarkdownDescription: "Where the console is: `https://ringmaster.example`. Or the variable `RINGMASTER_URL`.",
			},
			"token": schema.StringAttribute{
				Optional: true, Sensitive: true, MarkdownDescription: "An API token. Or the variable `RINGMASTER_TOKEN`, which is better: it stands in no file.",
			},
			"organisation": schema.StringAttribute{
				Optional: true, MarkdownDescription: "Id (`org_…`), where the token's owner belongs to several. Or the variable `RINGMASTER_ORGANISATION`.",
			},
			"cql_role": schema.StringAttribute{
				Optional: true, MarkdownDescription: "Role of the database as which `ringmaster_keyspace` and `ringmaster_table` are read and changed. Or the variable `RINGMASTER_CQL_ROLE`.",
			},
			"cql_password": schema.StringAttribute{
				Optional: true, Sensitive: true, MarkdownDescription: "Its password. Or the variable `RINGMASTER_CQL_PASSWORD`, which is better: it stands in no file. It is in no state.",
			},
		},
	}
}

type settings struct {
	URL          types.String `tfsdk:"url"`
	Token        types.String `tfsdk:"token"`
	Organisation types.String `tfsdk:"organisation"`
	CQLRole      types.String `tfsdk:"cql_role"`
	CQLPassword  types.String `tfsdk:"cql_password"`
}

func (r *ringmaster) Configure(ctx context.Context, request provider.ConfigureRequest, response *provider.ConfigureResponse) {
	var given settings
	response.Diagnostics.Append(request.Config.Get(ctx, &given)...)
	if response.Diagnostics.HasError() {
		return
	}
	of := func(value types.String, variable string) string {
		if value.ValueString() != "" {
			return value.ValueString()
		}
		return os.Getenv(variable)
	}
	with := client.Settings{
		URL: of(given.URL, "RINGMASTER_URL"), Token: of(given.Token, "RINGMASTER_TOKEN"),
		Organisation: of(given.Organisation, "RINGMASTER_ORGANISATION"), Agent: "terraform-provider-ringmaster/" + r.version,
		CQLRole: of(given.CQLRole, "RINGMASTER_CQL_ROLE"), CQLPassword: of(given.CQLPassword, "RINGMASTER_CQL_PASSWORD"),
	}
	if with.URL == "" {
		response.Diagnostics.AddAttributeError(path.Root("url"), "No address", "Set url, or the variable RINGMASTER_URL: https://ringmaster.example.")
	}
	if with.Token == "" {
		response.Diagnostics.AddAttributeError(path.Root("token"), "No token", "Make a token in the console (Tokens), and set the variable RINGMASTER_TOKEN.")
	}
	if response.Diagnostics.HasError() {
		return
	}
	made, err := client.New(with)
	if err != nil {
		response.Diagnostics.AddAttributeError(path.Root("url"), "No address", err.Error())
		return
	}
	response.ResourceData, response.DataSourceData, response.EphemeralResourceData = made, made, made
}

func (r *ringmaster) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{
		accesssettings.New, alertrule.New, allowlistentry.New, backup.New, backuplocation.New, backupschedule.New, budget.New, cloudaccount.New, cluster.New, cqlgrant.New, cqlrole.New,
		cqlschema.NewKeyspace, cqlschema.NewTable,
		drillschedule.New, grouprole.New, logarchive.New, member.New, networkconnection.NewEndpoint, networkconnection.NewPeering, notificationchannel.New, repairschedule.New, restore.New,
		role.New, serviceaccount.New, webhook.New,
	}
}

func (r *ringmaster) DataSources(context.Context) []func() datasource.DataSource {
	return append(lists.All(),
		catalogue.NewMachineTypes, catalogue.NewRegions, catalogue.NewVersions, connection.New, cqlschema.NewKeyspaces, cqlschema.NewTables,
		inventory.NewBackups, inventory.NewCluster, inventory.NewClusters, inventory.NewCQLRoles, inventory.NewOrganisation, inventory.NewRepairSchedule,
	)
}

func (r *ringmaster) EphemeralResources(context.Context) []func() ephemeral.EphemeralResource {
	return []func() ephemeral.EphemeralResource{apitoken.New, connection.NewEphemeral}
}

var _ provider.ProviderWithEphemeralResources = (*ringmaster)(nil)
