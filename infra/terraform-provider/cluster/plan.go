package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"ringmaster/terraform-provider/client"
	"ringmaster/terraform-provider/plain"
)

// ModifyPlan asks the server what would happen: refusals become errors of the plan, time, cost and what applications notice become
// warnings.
func (r *cluster) ModifyPlan(ctx context.Context, request resource.ModifyPlanRequest, response *resource.ModifyPlanResponse) {
	var before, wanted model
	found := &response.Diagnostics
	if r.client == nil {
		return // validated without a provider
	}
	if !request.State.Raw.IsNull() {
		found.Append(request.State.Get(ctx, &before)...)
	}
	if !request.Plan.Raw.IsNull() {
		found.Append(request.Plan.Get(ctx, &wanted)...)
	}
	switch {
	case found.HasError():
	case request.Plan.Raw.IsNull():
		r.planDelete(ctx, before, found)
	case request.State.Raw.IsNull():
		if request.Config.Raw.IsFullyKnown() {
			r.planOrder(ctx, wanted, found)
		}
	default:
		if before.State.ValueString() != "active" {
			// Not ended yet: the apply waits for it.
			found.Append(response.Plan.SetAttribute(ctx, path.Root("state"), types.StringUnknown())...)
		}
		if request.Config.Raw.IsFullyKnown() && !request.Plan.Raw.Equal(request.State.Raw) {
			r.planAtOnce(ctx, before, wanted, found)
			r.planChange(ctx, before.ID.ValueString(), wanted, found)
		}
	}
}

func (r *cluster) planDelete(ctx context.Context, before model, found *diag.Diagnostics) {
	var now document
	err := r.client.Get(ctx, client.Path("clusters", before.ID.ValueString()), &now)
	if client.Missing(err) {
		return
	}
	if err != nil {
		plain.Refused(found, "Not read", err)
		return
	}
	for _, action := range now.AllowedActions {
		if action.Action == "delete_cluster" && !action.Allowed {
			found.AddError("The cluster "+now.Name+" is not deleted", action.Reason+
				"\n\nIf it is to be replaced because an apply failed while it was made (\"tainted\"): `terraform untaint` its address, and the next apply goes on with it.")
		}
	}
}

func (r *cluster) planOrder(ctx context.Context, wanted model, found *diag.Diagnostics) {
	order := wanted.order(ctx, found)
	if found.HasError() {
		return
	}
	var told check
	if err := r.client.Post(ctx, "/clusters/check", order, &told); err != nil {
		more := ""
		if client.HasCode(err, "name_taken") {
			more = r.isItMine(ctx, order.Name)
		}
		refused(found, "The order cannot be carried out", err, more)
		return
	}
	text := fmt.Sprintf("%s: %d nodes, ready in about %s", order.Name, told.NodesTotal, duration(told.ExpectedSeconds))
	if told.Cost != nil {
		text += fmt.Sprintf(", machines %s a month", dollars(told.Cost.Month))
	}
	found.AddWarning(text+".", strings.Join(append(told.Warnings, "Traffic and backups are not in it."), "\n"))
}

// planAtOnce rehearses what needs no operation.
func (r *cluster) planAtOnce(ctx context.Context, before, wanted model, found *diag.Diagnostics) {
	is, should := before.light(ctx, found), wanted.light(ctx, found)
	if found.HasError() {
		return
	}
	if err := r.sendLight(ctx, before.ID.ValueString(), is, should, "?dry_run=true"); err != nil {
		refused(found, "Not possible", err, "")
	}
}

// refused names every wrong field at its place in the configuration. `more` is said behind the server's words.
func refused(found *diag.Diagnostics, what string, err error, more string) {
	var problem *client.Problem
	switch {
	case errors.As(err, &problem) && len(problem.Fields) > 0:
		for _, wrong := range problem.Fields {
			found.AddAttributeError(attribute(wrong.Field), what, wrong.Message+"\n"+problem.Hint+more)
		}
	case errors.As(err, &problem):
		found.AddAttributeError(attribute(problem.Field), what, err.Error()+more)
	default:
		plain.Refused(found, what, err)
	}
}

// isItMine says how to go on with a cluster that an apply has made and could not finish: Terraform calls it tainted, and wants another.
func (r *cluster) isItMine(ctx context.Context, name string) string {
	var page struct {
		Items []document `json:"items"`
	}
	query := url.Values{"name": {name}}
	if err := r.client.Get(ctx, "/clusters?"+query.Encode(), &page); err != nil || len(page.Items) != 1 {
		return ""
	}
	return "\n\nIf it is this one, because an apply was interrupted or failed after it was ordered, nothing is lost: `terraform untaint` its address, " +
		"or `terraform import` it as " + page.Items[0].ID + ". The next apply goes on with it."
}

func (r *cluster) planChange(ctx context.Context, id string, wanted model, found *diag.Diagnostics) {
	goal := wanted.desired(ctx, found)
	if found.HasError() {
		return
	}
	var told plan
	if err := r.client.Post(ctx, client.Path("clusters", id, "plan"), goal, &told); err != nil {
		plain.Refused(found, "Not planned", err)
		return
	}
	if len(told.Changes) == 0 {
		return
	}
	if !told.Possible {
		for _, change := range told.Changes {
			switch {
			case change.waits():
				found.AddWarning(change.Title+", when what works on the cluster has ended.", change.Reason)
			case change.Reason != "":
				refuse(change, found)
			}
		}
		return
	}
	text := fmt.Sprintf("%s changes in place, in about %s", wanted.Name.ValueString(), duration(told.ExpectedSeconds))
	if told.CostPerMonthMicros != nil && *told.CostPerMonthMicros != 0 {
		sign := "more"
		if *told.CostPerMonthMicros < 0 {
			sign = "less"
		}
		text += fmt.Sprintf(", for %s %s a month", dollars(max(*told.CostPerMonthMicros, -*told.CostPerMonthMicros)), sign)
	}
	lines := []string{}
	for number, change := range told.Changes {
		lines = append(lines, fmt.Sprintf("%d. %s", number+1, change.Title))
		for _, line := range append(change.Impact, change.Warnings...) {
			lines = append(lines, "   "+line)
		}
	}
	found.AddWarning(text+".", strings.Join(lines, "\n"))
}

// refuse says why a change cannot be, at what of the configuration it is about.
func refuse(change planned, found *diag.Diagnostics) {
	where := attribute(change.Field)
	switch change.Kind {
	case "upgrade":
		where = path.Root("engine_version")
	case "settings":
		where = path.Root("settings")
	case "scale", "machine_type":
		where = path.Root("datacenters")
	}
	found.AddAttributeError(where, change.Title+": not possible", strings.TrimSpace(change.Reason+"\n"+change.Hint))
}

// attribute finds the server's name of a field in the configuration.
func attribute(field string) path.Path {
	words := strings.Split(field, ".")
	switch words[0] {
	case "provider":
		return path.Root("cloud")
	case "region", "zones", "machine_type", "nodes_per_zone":
		return path.Root("datacenters").AtListIndex(0).AtName(words[0])
	case "windows":
		return path.Root("maintenance_windows")
	case "options":
		return path.Root("tags")
	case "datacenters":
		if len(words) == 3 {
			if index, err := strconv.Atoi(words[1]); err == nil {
				return path.Root("datacenters").AtListIndex(index).AtName(words[2])
			}
		}
	case "":
		return path.Root("name")
	}
	return path.Root(words[0])
}

func duration(seconds int64) string {
	return (time.Duration(seconds) * time.Second).Round(time.Second).String()
}

func dollars(micros int64) string { return fmt.Sprintf("$%.2f", float64(micros)/1e6) }
