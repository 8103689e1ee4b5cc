package cluster

import (
	"context"
	"reflect"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"ringmaster/terraform-provider/client"
	"ringmaster/terraform-provider/plain"
)

// mostChanges is far above what one configuration can differ in: two for each data centre, settings, version.
const mostChanges = 50

// converge makes the cluster what is wanted. False: it is not, and the diagnostics say why. May be repeated: it begins with what an
// interrupted one left, and waits for the operation that still works.
func (r *cluster) converge(ctx context.Context, wanted model, found *diag.Diagnostics) bool {
	id := wanted.ID.ValueString()
	now, settled := r.settle(ctx, id, found)
	if !settled {
		return false
	}
	goal := wanted.desired(ctx, found)
	if found.HasError() || !r.atOnce(ctx, now, wanted, found) {
		return false
	}
	for range mostChanges {
		var next plan
		if err := r.client.Post(ctx, client.Path("clusters", id, "plan"), goal, &next); err != nil {
			plain.Refused(found, "Not planned", err)
			return false
		}
		if len(next.Changes) == 0 {
			return true
		}
		first := next.Changes[0]
		if first.waits() {
			if _, settled := r.settle(ctx, id, found); !settled {
				return false
			}
			continue
		}
		if first.Reason != "" {
			refuse(first, found)
			return false
		}
		var begun started
		if err := r.client.Post(ctx, client.Path("clusters", id, "changes"), first.Change, &begun); err != nil {
			plain.Refused(found, "Not changed", err)
			return false
		}
		if !plain.Follow(ctx, r.client, begun.Operation.ID, found) {
			return false
		}
	}
	found.AddError("Not what is wanted", "After many changes the cluster is not what the configuration says; somebody else may be changing it.")
	return false
}

// settle waits for what works on the cluster: one change at a time.
func (r *cluster) settle(ctx context.Context, id string, found *diag.Diagnostics) (document, bool) {
	var now document
	if err := r.client.Get(ctx, client.Path("clusters", id), &now); err != nil {
		plain.Refused(found, "Not read", err)
		return now, false
	}
	return now, now.CurrentOperation == nil || plain.Follow(ctx, r.client, now.CurrentOperation.ID, found)
}

// light is what no node notices: it needs no operation.
type light struct {
	update  update
	windows windows
}

func (m model) light(ctx context.Context, found *diag.Diagnostics) light {
	return light{m.update(ctx, found), m.windows(ctx, found)}
}

// atOnce makes of the cluster what is light, if it is otherwise.
func (r *cluster) atOnce(ctx context.Context, now document, wanted model, found *diag.Diagnostics) bool {
	before := model{ID: wanted.ID}
	before.take(ctx, now, found)
	is := light{update: before.update(ctx, found)}
	if err := r.client.Get(ctx, client.Path("clusters", now.ID, "maintenance-windows"), &is.windows); err != nil {
		plain.Refused(found, "Not read", err)
		return false
	}
	is.windows.sort()
	should := wanted.light(ctx, found)
	if found.HasError() {
		return false
	}
	if err := r.sendLight(ctx, now.ID, is, should, ""); err != nil {
		plain.Refused(found, "Not changed", err)
		return false
	}
	return true
}

// sendLight sends what differs; with the query "?dry_run=true" it only asks whether it could.
func (r *cluster) sendLight(ctx context.Context, id string, is, should light, query string) error {
	path := client.Path("clusters", id)
	if !reflect.DeepEqual(is.update, should.update) {
		if err := r.client.Patch(ctx, path+query, should.update, nil); err != nil {
			return err
		}
	}
	if !reflect.DeepEqual(is.windows, should.windows) {
		return r.client.Put(ctx, path+"/maintenance-windows"+query, should.windows, nil)
	}
	return nil
}
