package connection

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/ephemeral"
	"github.com/hashicorp/terraform-plugin-framework/ephemeral/schema"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"ringmaster/terraform-provider/client"
	"ringmaster/terraform-provider/cqlrole"
	"ringmaster/terraform-provider/plain"
)

// permissions are what a role holds on all tables, by what `access` says.
var permissions = map[string][]string{
	"read":   {"SELECT"},
	"write":  {"SELECT", "MODIFY"},
	"schema": {"SELECT", "MODIFY", "CREATE", "ALTER", "DROP"},
}

const (
	usualMinutes = 60
	// patience is how long what remains is worked on when a run was stopped.
	patience = 30 * time.Second
)

type shortLived struct{ client *client.Client }

type shortModel struct {
	ClusterID     types.String `tfsdk:"cluster_id"`
	Access        types.String `tfsdk:"access"`
	MemberOf      types.Set    `tfsdk:"member_of"`
	Minutes       types.Int64  `tfsdk:"minutes"`
	ContactPoints []string     `tfsdk:"contact_points"`
	Port          types.Int64  `tfsdk:"port"`
	Datacenter    types.String `tfsdk:"datacenter"`
	TLS           types.Bool   `tfsdk:"tls"`
	CACertificate types.String `tfsdk:"ca_certificate"`
	Username      types.String `tfsdk:"username"`
	Password      types.String `tfsdk:"password"`
}

// made is what Close has to know.
type made struct{ Cluster, Role string }

// NewEphemeral makes the ephemeral resource.
func NewEphemeral() ephemeral.EphemeralResource { return &shortLived{} }

func (s *shortLived) Metadata(_ context.Context, request ephemeral.MetadataRequest, response *ephemeral.MetadataResponse) {
	response.TypeName = request.ProviderTypeName + "_connection"
}

func (s *shortLived) Schema(_ context.Context, _ ephemeral.SchemaRequest, response *ephemeral.SchemaResponse) {
	response.Schema = schema.Schema{
		MarkdownDescription: "What a driver needs to reach a cluster, with a database role that is made for the run and dropped when it ends. It is in no state and no plan. " +
			"Plans make one, too. Should nobody drop it, because the run is killed, the server does when `minutes` are over.",
		Attributes: map[string]schema.Attribute{
			"cluster_id": schema.StringAttribute{Required: true, MarkdownDescription: "`clu_…`"},
			"access": schema.StringAttribute{
				Optional:            true,
				MarkdownDescription: "To all tables: `read`, `write` (read, too) or `schema` (also create, alter and drop tables and keyspaces). Default: `read`.",
			},
			"member_of": schema.SetAttribute{
				Optional: true, ElementType: types.StringType,
				MarkdownDescription: "Roles whose permissions it has, in the place of `access`.",
			},
			"minutes": schema.Int64Attribute{
				Optional:            true,
				MarkdownDescription: "After which the server drops it, whatever became of the run: 5 to 10080. Default: 60.",
			},
			"contact_points": schema.ListAttribute{Computed: true, ElementType: types.StringType, MarkdownDescription: "Addresses of nodes."},
			"port":           schema.Int64Attribute{Computed: true, MarkdownDescription: "Of CQL."},
			"datacenter":     schema.StringAttribute{Computed: true, MarkdownDescription: "What drivers call the local data centre."},
			"tls":            schema.BoolAttribute{Computed: true, MarkdownDescription: "Whether clients speak TLS."},
			"ca_certificate": schema.StringAttribute{Computed: true, MarkdownDescription: "PEM of the cluster's own authority."},
			"username":       schema.StringAttribute{Computed: true, MarkdownDescription: "The role."},
			"password":       schema.StringAttribute{Computed: true, Sensitive: true, MarkdownDescription: "Of the role."},
		},
	}
}

func (s *shortLived) Configure(_ context.Context, request ephemeral.ConfigureRequest, _ *ephemeral.ConfigureResponse) {
	s.client, _ = request.ProviderData.(*client.Client)
}

func (s *shortLived) Open(ctx context.Context, request ephemeral.OpenRequest, response *ephemeral.OpenResponse) {
	var m shortModel
	found := &response.Diagnostics
	if found.Append(request.Config.Get(ctx, &m)...); found.HasError() {
		return
	}
	order := m.order(found)
	if found.HasError() {
		return
	}
	cluster := m.ClusterID.ValueString()
	now, err := look(ctx, s.client, cluster)
	if err != nil {
		plain.Refused(found, "Not read", err)
		return
	}
	var begun plain.Begun
	if err := plain.Patiently(ctx, func() error { return s.client.Post(ctx, cqlrole.Path(cluster), order, &begun) }); err != nil {
		plain.Refused(found, "No role was made", err)
		return
	}
	it := made{cluster, order.Name}
	password, err := s.password(ctx, it, begun.Operation.ID)
	if err != nil {
		// Terraform closes only what was opened.
		plain.Refused(found, "No role was made", errors.Join(err, s.drop(ctx, it, begun.Operation.ID)))
		return
	}
	m.ContactPoints, m.Port, m.Datacenter = now.ContactPoints, types.Int64Value(now.Port), types.StringValue(now.Datacenter)
	m.TLS, m.CACertificate = types.BoolValue(now.TLS), types.StringValue(now.CACertificate)
	m.Username, m.Password = types.StringValue(order.Name), types.StringValue(password)
	note, _ := json.Marshal(it)
	found.Append(response.Private.SetKey(ctx, "role", note)...)
	found.Append(response.Result.Set(ctx, &m)...)
}

type grant struct {
	Resource    string   `json:"resource"`
	Permissions []string `json:"permissions"`
}

type roleOrder struct {
	Name            string   `json:"name"`
	MemberOf        []string `json:"member_of"`
	Permissions     []grant  `json:"permissions"`
	LifetimeMinutes int64    `json:"lifetime_minutes"`
}

func (m shortModel) order(found *diag.Diagnostics) roleOrder {
	random := make([]byte, 8)
	_, _ = rand.Read(random)
	wanted := roleOrder{Name: "terraform_" + hex.EncodeToString(random), MemberOf: []string{}, Permissions: []grant{}, LifetimeMinutes: usualMinutes}
	if !m.Minutes.IsNull() {
		wanted.LifetimeMinutes = m.Minutes.ValueInt64()
	}
	access := m.Access.ValueString()
	if !m.MemberOf.IsNull() {
		if access != "" {
			found.AddAttributeError(path.Root("access"), "Not both", "Leave out access where member_of is given: the role may do what those roles may.")
		}
		wanted.MemberOf = plain.Texts(m.MemberOf)
		return wanted
	}
	if access == "" {
		access = "read"
	}
	held, known := permissions[access]
	if !known {
		found.AddAttributeError(path.Root("access"), "No such access", fmt.Sprintf("It is read, write or schema, not %q.", access))
	}
	wanted.Permissions = []grant{{"data", held}}
	return wanted
}

// password waits until the database has the role. Errors: those of client.Wait and of calls.
func (s *shortLived) password(ctx context.Context, it made, operation string) (string, error) {
	if err := s.client.Wait(ctx, operation, func(client.Operation) {}); err != nil {
		return "", err
	}
	var login struct {
		Password string `json:"password"`
	}
	if err := s.client.Post(ctx, cqlrole.Path(it.Cluster, it.Role, "reveal"), nil, &login); err != nil {
		return "", err
	}
	return login.Password, nil
}

// drop orders the role away, or takes the order of it back; the server goes on without this program. What fails is told, and the
// server drops the role later by itself.
func (s *shortLived) drop(ctx context.Context, it made, operation string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	if operation != "" && s.client.Post(ctx, client.Path("operations", operation, "cancel"), nil, nil) == nil {
		return nil
	}
	err := plain.Patiently(ctx, func() error { return s.client.Delete(ctx, cqlrole.Path(it.Cluster, it.Role), nil, nil) })
	if client.Missing(err) {
		return nil
	}
	return err
}

func (s *shortLived) Close(ctx context.Context, request ephemeral.CloseRequest, response *ephemeral.CloseResponse) {
	content, found := request.Private.GetKey(ctx, "role")
	var it made
	if response.Diagnostics.Append(found...); response.Diagnostics.HasError() || json.Unmarshal(content, &it) != nil {
		return
	}
	if err := s.drop(ctx, it, ""); err != nil {
		response.Diagnostics.AddWarning("The role is not dropped yet", fmt.Sprintf("The server drops %s by itself when its time is over. %s", it.Role, err))
	}
}

var _ ephemeral.EphemeralResourceWithClose = (*shortLived)(nil)
