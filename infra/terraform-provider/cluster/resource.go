// Package cluster is the resource ringmaster_cluster.
package cluster

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"ringmaster/terraform-provider/client"
	"ringmaster/terraform-provider/plain"
)

type cluster struct{ client *client.Client }

// New makes the resource.
func New() resource.Resource { return &cluster{} }

func (r *cluster) Metadata(_ context.Context, request resource.MetadataRequest, response *resource.MetadataResponse) {
	response.TypeName = request.ProviderTypeName + "_cluster"
}

func (r *cluster) Configure(_ context.Context, request resource.ConfigureRequest, _ *resource.ConfigureResponse) {
	r.client, _ = request.ProviderData.(*client.Client)
}

func (r *cluster) ImportState(ctx context.Context, request resource.ImportStateRequest, response *resource.ImportStateResponse) {
	resource.ImportStatePassthroughID(ctx, path.Root("id"), request, response)
}

func (r *cluster) Create(ctx context.Context, request resource.CreateRequest, response *resource.CreateResponse) {
	var wanted model
	found := &response.Diagnostics
	if found.Append(request.Plan.Get(ctx, &wanted)...); found.HasError() {
		return
	}
	order := wanted.order(ctx, found)
	if found.HasError() {
		return
	}
	var begun started
	if err := r.client.Post(ctx, "/clusters", order, &begun); err != nil {
		plain.Refused(found, "Not ordered", err)
		return
	}
	// The id is known before anything is waited for; the rest is what is wanted, until it is read.
	now := wanted
	now.take(ctx, begun.Cluster, found)
	now.Datacenters, now.Settings = wanted.Datacenters, wanted.Settings
	if found.Append(response.State.Set(ctx, &now)...); found.HasError() {
		return
	}
	if !plain.Follow(ctx, r.client, begun.Operation.ID, found) {
		if _, gone, err := r.look(ctx, begun.Cluster.ID); err == nil && gone {
			response.State.RemoveResource(ctx)
		}
		return
	}
	wanted.ID = now.ID
	if r.converge(ctx, wanted, found) {
		r.read(ctx, &wanted, found)
		found.Append(response.State.Set(ctx, &wanted)...)
	}
}

// look reads a cluster, and tells whether nothing is left of it: deleted, or an order that was taken back.
func (r *cluster) look(ctx context.Context, id string) (now document, gone bool, err error) {
	err = r.client.Get(ctx, client.Path("clusters", id), &now)
	if client.Missing(err) {
		return now, true, nil
	}
	return now, err == nil && now.State == "deleted", err
}

func (r *cluster) Read(ctx context.Context, request resource.ReadRequest, response *resource.ReadResponse) {
	var now model
	found := &response.Diagnostics
	if found.Append(request.State.Get(ctx, &now)...); found.HasError() {
		return
	}
	// Once: plans of hundreds of clusters are made of these calls.
	is, gone, err := r.look(ctx, now.ID.ValueString())
	switch {
	case err != nil:
		plain.Refused(found, "Not read", err)
	case gone:
		response.State.RemoveResource(ctx)
	default:
		r.takeAll(ctx, &now, is, found)
		found.Append(response.State.Set(ctx, &now)...)
	}
}

func (r *cluster) read(ctx context.Context, into *model, found *diag.Diagnostics) {
	var now document
	if err := r.client.Get(ctx, client.Path("clusters", into.ID.ValueString()), &now); err != nil {
		plain.Refused(found, "Not read", err)
		return
	}
	r.takeAll(ctx, into, now, found)
}

// takeAll reads what the cluster's own document does not hold, too.
func (r *cluster) takeAll(ctx context.Context, into *model, now document, found *diag.Diagnostics) {
	var at windows
	if err := r.client.Get(ctx, client.Path("clusters", now.ID, "maintenance-windows"), &at); err != nil {
		plain.Refused(found, "Not read", err)
		return
	}
	into.take(ctx, now, found)
	into.takeWindows(ctx, at, found)
}

func (r *cluster) Update(ctx context.Context, request resource.UpdateRequest, response *resource.UpdateResponse) {
	var wanted model
	found := &response.Diagnostics
	if found.Append(request.Plan.Get(ctx, &wanted)...); found.HasError() {
		return
	}
	done := r.converge(ctx, wanted, found)
	// What was reached is in the state, also when not all was.
	r.read(ctx, &wanted, found)
	if done || found.HasError() {
		found.Append(response.State.Set(ctx, &wanted)...)
	}
}

func (r *cluster) Delete(ctx context.Context, request resource.DeleteRequest, response *resource.DeleteResponse) {
	var now model
	found := &response.Diagnostics
	if found.Append(request.State.Get(ctx, &now)...); found.HasError() {
		return
	}
	var begun started
	err := r.client.Delete(ctx, client.Path("clusters", now.ID.ValueString()), nil, &begun)
	switch {
	case client.Missing(err), client.HasCode(err, "cluster_deleted"):
	case err != nil:
		plain.Refused(found, "Not deleted", err)
	default:
		plain.Follow(ctx, r.client, begun.Operation.ID, found)
	}
}
