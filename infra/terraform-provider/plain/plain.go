// Package plain makes Terraform resources of what the API keeps as documents: read, map, call, set.
package plain

import (
	"context"
	"errors"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-log/tflog"

	"ringmaster/terraform-provider/client"
)

// Kind is one sort of document; M is its model, a struct with tfsdk tags. Where the server works on after its answer,
// functions give the id of the operation, else "".
type Kind[M any] struct {
	// Name is without ringmaster_: budget.
	Name   string
	Schema schema.Schema
	// Create sends the model and takes from the answer what identifies it.
	Create func(context.Context, *client.Client, *M) (operation string, err error)
	// Read takes everything from the server. client.Missing(err) means that it is gone.
	Read func(context.Context, *client.Client, *M) error
	// Update makes what was before so. Nil: every attribute is replaced for, as its schema says.
	Update func(ctx context.Context, c *client.Client, now *M, before M) (operation string, err error)
	Delete func(context.Context, *client.Client, *M) (operation string, err error)
	// Plan judges what is planned before anything is done: what it finds wrong is an error of the plan. `now` is nil for what is
	// to go, `before` for what is to be made; it may make values of `now` unknown that only the apply will tell. May be nil.
	Plan func(ctx context.Context, c *client.Client, now, before *M, found *diag.Diagnostics)
	// Secret takes write-only attributes over from the configuration, the only place that has them, before Create and Update; and
	// with nil takes them out again, so that no state gets them. May be nil.
	Secret func(m, configuration *M)
	// Import is the attributes that an id to import names, in order, separated by slashes. Empty: id.
	Import []string
}

// Resource makes what Terraform asks for.
func (k Kind[M]) Resource() resource.Resource { return &plain[M]{kind: k} }

type plain[M any] struct {
	kind   Kind[M]
	client *client.Client
}

func (p *plain[M]) Metadata(_ context.Context, request resource.MetadataRequest, response *resource.MetadataResponse) {
	response.TypeName = request.ProviderTypeName + "_" + p.kind.Name
}

func (p *plain[M]) Schema(_ context.Context, _ resource.SchemaRequest, response *resource.SchemaResponse) {
	response.Schema = p.kind.Schema
}

func (p *plain[M]) Configure(_ context.Context, request resource.ConfigureRequest, _ *resource.ConfigureResponse) {
	p.client, _ = request.ProviderData.(*client.Client)
}

func (p *plain[M]) ModifyPlan(ctx context.Context, request resource.ModifyPlanRequest, response *resource.ModifyPlanResponse) {
	if p.kind.Plan == nil || p.client == nil {
		return // nothing to judge, or validated without a provider
	}
	var now, before *M
	if !request.Plan.Raw.IsNull() {
		now = new(M)
		response.Diagnostics.Append(request.Plan.Get(ctx, now)...)
	}
	if !request.State.Raw.IsNull() {
		before = new(M)
		response.Diagnostics.Append(request.State.Get(ctx, before)...)
	}
	if response.Diagnostics.HasError() || now == nil && before == nil {
		return
	}
	p.kind.Plan(ctx, p.client, now, before, &response.Diagnostics)
	if now != nil && !response.Diagnostics.HasError() {
		response.Diagnostics.Append(response.Plan.Set(ctx, now)...)
	}
}

func (p *plain[M]) Create(ctx context.Context, request resource.CreateRequest, response *resource.CreateResponse) {
	var model M
	if response.Diagnostics.Append(request.Plan.Get(ctx, &model)...); response.Diagnostics.HasError() {
		return
	}
	if p.secrets(ctx, request.Config, &model, &response.Diagnostics); response.Diagnostics.HasError() {
		return
	}
	operation, err := p.kind.Create(ctx, p.client, &model)
	p.forget(&model)
	if err != nil {
		Refused(&response.Diagnostics, "Not created", err)
		return
	}
	// What was made is known before anything is waited for.
	if response.Diagnostics.Append(response.State.Set(ctx, &model)...); response.Diagnostics.HasError() {
		return
	}
	if Follow(ctx, p.client, operation, &response.Diagnostics) {
		p.read(ctx, &model, &response.Diagnostics)
		response.Diagnostics.Append(response.State.Set(ctx, &model)...)
	}
}

func (p *plain[M]) secrets(ctx context.Context, of tfsdk.Config, model *M, found *diag.Diagnostics) {
	if p.kind.Secret == nil {
		return
	}
	var configuration M
	found.Append(of.Get(ctx, &configuration)...)
	p.kind.Secret(model, &configuration)
}

func (p *plain[M]) forget(model *M) {
	if p.kind.Secret != nil {
		p.kind.Secret(model, nil)
	}
}

func (p *plain[M]) read(ctx context.Context, model *M, found *diag.Diagnostics) {
	if err := p.kind.Read(ctx, p.client, model); err != nil {
		Refused(found, "Not read", err)
	}
}

func (p *plain[M]) Read(ctx context.Context, request resource.ReadRequest, response *resource.ReadResponse) {
	var model M
	if response.Diagnostics.Append(request.State.Get(ctx, &model)...); response.Diagnostics.HasError() {
		return
	}
	err := p.kind.Read(ctx, p.client, &model)
	switch {
	case client.Missing(err):
		response.State.RemoveResource(ctx)
	case err != nil:
		Refused(&response.Diagnostics, "Not read", err)
	default:
		response.Diagnostics.Append(response.State.Set(ctx, &model)...)
	}
}

func (p *plain[M]) Update(ctx context.Context, request resource.UpdateRequest, response *resource.UpdateResponse) {
	var model, before M
	response.Diagnostics.Append(request.Plan.Get(ctx, &model)...)
	response.Diagnostics.Append(request.State.Get(ctx, &before)...)
	if response.Diagnostics.HasError() {
		return
	}
	if p.secrets(ctx, request.Config, &model, &response.Diagnostics); response.Diagnostics.HasError() {
		return
	}
	operation, err := p.kind.Update(ctx, p.client, &model, before)
	p.forget(&model)
	if err != nil {
		Refused(&response.Diagnostics, "Not changed", err)
		return
	}
	if Follow(ctx, p.client, operation, &response.Diagnostics) {
		p.read(ctx, &model, &response.Diagnostics)
		response.Diagnostics.Append(response.State.Set(ctx, &model)...)
	}
}

func (p *plain[M]) Delete(ctx context.Context, request resource.DeleteRequest, response *resource.DeleteResponse) {
	var model M
	if response.Diagnostics.Append(request.State.Get(ctx, &model)...); response.Diagnostics.HasError() {
		return
	}
	operation, err := p.kind.Delete(ctx, p.client, &model)
	if err != nil && !client.Missing(err) {
		Refused(&response.Diagnostics, "Not removed", err)
		return
	}
	Follow(ctx, p.client, operation, &response.Diagnostics)
}

func (p *plain[M]) ImportState(ctx context.Context, request resource.ImportStateRequest, response *resource.ImportStateResponse) {
	names := p.kind.Import
	if len(names) == 0 {
		names = []string{"id"}
	}
	words, err := split(request.ID, names)
	if err != nil {
		response.Diagnostics.AddError("Not imported", err.Error())
		return
	}
	for number, name := range names {
		response.Diagnostics.Append(response.State.SetAttribute(ctx, path.Root(name), words[number])...)
	}
}

// Refused tells what the server said.
func Refused(found *diag.Diagnostics, what string, err error) {
	var problem *client.Problem
	if errors.As(err, &problem) {
		what += ": " + problem.Message
	}
	found.AddError(what, err.Error())
}

// Follow waits for an operation, if there is one. False: it did not succeed, and the diagnostics say why.
func Follow(ctx context.Context, c *client.Client, operation string, found *diag.Diagnostics) bool {
	if operation == "" {
		return true
	}
	last := ""
	err := c.Wait(ctx, operation, func(now client.Operation) {
		text := fmt.Sprintf("%s: %.0f %%, %s", now.Title, 100*now.Progress, now.Current)
		if text != last {
			tflog.Info(ctx, text, map[string]any{"operation": now.ID, "state": now.State})
			last = text
		}
	})
	var standing *client.Standing
	switch {
	case err == nil:
		return true
	case errors.Is(err, client.ErrInterrupted):
		// No error: what Terraform creates with one it would take away and make anew.
		found.AddWarning("Interrupted", "The operation "+operation+" goes on. The next apply waits for it and does what is left.")
	case errors.As(err, &standing):
		found.AddError("The operation did not succeed", standing.Error())
	default:
		Refused(found, "The operation cannot be followed", err)
	}
	return false
}
