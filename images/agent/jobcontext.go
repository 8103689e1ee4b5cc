package agent

import (
	"context"
	"errors"
)

// ErrJobDeleted is the cause with which the context of a job ends that is deleted while it runs. When the agent itself ends, the
// cause is another, and the next agent goes on with the job.
var ErrJobDeleted = errors.New("the job was deleted")

type jobNameKey struct{}

// WithJobName says in whose name something is done.
func WithJobName(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, jobNameKey{}, name)
}

// JobName is the name of the job that runs under the context. It is the same when the job is gone on with by a later agent.
func JobName(ctx context.Context) string {
	name, _ := ctx.Value(jobNameKey{}).(string)
	return name
}

// JobDeleted tells whether the context ended because its job was deleted.
func JobDeleted(ctx context.Context) bool { return errors.Is(context.Cause(ctx), ErrJobDeleted) }

type traceparentKey struct{}

// WithTraceparent says in which trace something happens, as W3C writes it. What runs under the context may be ended and
// gone on with by a later agent, so it is a text and not a span.
func WithTraceparent(ctx context.Context, traceparent string) context.Context {
	return context.WithValue(ctx, traceparentKey{}, traceparent)
}

// Traceparent is empty where there is no trace.
func Traceparent(ctx context.Context) string {
	traceparent, _ := ctx.Value(traceparentKey{}).(string)
	return traceparent
}
