package plain

import (
	"context"
	"strings"

	"ringmaster/terraform-provider/client"
)

// Documents are kept in a list of the API: POST to it makes one, GET, PATCH and DELETE below it by its id do the rest.
// M is the model, D what the API answers.
type Documents[M, D any] struct {
	// At is the list, below /api/v1: budgets.
	At string
	ID func(*M) string
	// Order is the body that makes one, Change the body that changes it.
	Order  func(*M) map[string]any
	Change func(*M) map[string]any
	Take   func(*M, D)
}

// Of completes a kind whose documents are these.
func (d Documents[M, D]) Of(kind Kind[M]) Kind[M] {
	list := client.Path(strings.Split(d.At, "/")...)
	one := func(m *M) string { return list + client.Path(d.ID(m)) }
	kind.Create = func(ctx context.Context, c *client.Client, m *M) (string, error) {
		var made D
		err := c.Post(ctx, list, d.Order(m), &made)
		if err == nil {
			d.Take(m, made)
		}
		return "", err
	}
	kind.Read = func(ctx context.Context, c *client.Client, m *M) error {
		var now D
		err := c.Get(ctx, one(m), &now)
		if err == nil {
			d.Take(m, now)
		}
		return err
	}
	kind.Update = func(ctx context.Context, c *client.Client, m *M, _ M) (string, error) {
		return "", c.Patch(ctx, one(m), d.Change(m), nil)
	}
	kind.Delete = func(ctx context.Context, c *client.Client, m *M) (string, error) {
		return "", c.Delete(ctx, one(m), nil, nil)
	}
	return kind
}
