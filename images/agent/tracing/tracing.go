// Package tracing notes what the agent does in traces that the control plane began, and hands it back with its answers.
//
// The agent sends nothing by itself: a machine of a customer reaches no collector, and needs no further way out. What
// comes without a sampled traceparent is not noted and costs nothing. See docs/agent-api.md.
package tracing

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"ringmaster/agent"
)

const (
	// Header carries finished spans in answers, as JSON.
	Header = "Ringmaster-Spans"
	// kept is how many finished spans wait to be handed back; of more, the oldest go.
	kept = 512
	// most is how large the header may become; what does not fit waits for the next answer.
	most = 6 << 10
	// longest is how long a text of a span may be, in bytes.
	longest = 200
)

// Run does one job to its end, as in the package jobs.
type Run = func(ctx context.Context, kind agent.JobKind, parameters json.RawMessage, report agent.Report) (any, error)

// Span is a finished span as it is handed back. Times are nanoseconds since 1970.
type Span struct {
	Trace      string            `json:"trace"`
	ID         string            `json:"span"`
	Parent     string            `json:"parent"`
	Name       string            `json:"name"`
	Kind       string            `json:"kind"`
	Start      int64             `json:"start"`
	End        int64             `json:"end"`
	Attributes map[string]string `json:"attributes,omitempty"`
	// Error is a code, never a message: those may hold what people wrote.
	Error string `json:"error,omitempty"`
}

// Recorder holds the finished spans of one agent. They are lost when it ends.
type Recorder struct {
	tracer trace.Tracer

	mu       sync.Mutex
	finished []json.RawMessage
}

// New makes a recorder of what others began: it begins no trace.
func New() *Recorder {
	recorder := &Recorder{}
	provider := sdk.NewTracerProvider(
		sdk.WithSampler(sdk.ParentBased(sdk.NeverSample())),
		sdk.WithResource(resource.Empty()),
		sdk.WithSpanProcessor(recorder),
	)
	recorder.tracer = provider.Tracer("ringmaster/agent")
	return recorder
}

// Handler notes the calls that come with a sampled traceparent, and answers them with the spans that are finished.
func (r *Recorder) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		ctx := propagation.TraceContext{}.Extract(request.Context(), propagation.HeaderCarrier(request.Header))
		if !trace.SpanContextFromContext(ctx).IsSampled() {
			next.ServeHTTP(response, request)
			return
		}
		ctx, span := r.tracer.Start(ctx, request.Method, trace.WithSpanKind(trace.SpanKindServer))
		request = request.WithContext(agent.WithTraceparent(ctx, traceparent(ctx)))
		answer := &answer{ResponseWriter: response, recorder: r, request: request, span: span}
		// What is not answered ends too.
		defer span.End()
		next.ServeHTTP(answer, request)
	})
}

// Jobs notes what jobs do whose order came in a trace, also when a later agent goes on with them.
func (r *Recorder) Jobs(run Run) Run {
	return func(ctx context.Context, kind agent.JobKind, parameters json.RawMessage, report agent.Report) (any, error) {
		ordered := agent.Traceparent(ctx)
		if ordered == "" {
			return run(ctx, kind, parameters, report)
		}
		ctx = propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{"traceparent": ordered})
		ctx, span := r.tracer.Start(ctx, "job "+string(kind), trace.WithAttributes(
			attribute.String("ringmaster.job.name", agent.JobName(ctx)), attribute.String("ringmaster.job.kind", string(kind))))
		defer span.End()
		result, err := run(ctx, kind, parameters, report)
		if err != nil {
			span.SetStatus(codes.Error, agent.AsError(err).Code)
		}
		return result, err
	}
}

func traceparent(ctx context.Context) string {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return carrier["traceparent"]
}

// answer ends the span of a call when its answer begins, so that the answer can carry it.
type answer struct {
	http.ResponseWriter
	recorder *Recorder
	request  *http.Request
	span     trace.Span
	begun    bool
}

func (a *answer) WriteHeader(status int) {
	a.begin(status)
	a.ResponseWriter.WriteHeader(status)
}

func (a *answer) Write(content []byte) (int, error) {
	a.begin(http.StatusOK)
	return a.ResponseWriter.Write(content)
}

// Unwrap is for http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

func (a *answer) begin(status int) {
	if a.begun {
		return
	}
	a.begun = true
	// The pattern, never the path: names of jobs and keyspaces are in that.
	if _, route, found := strings.Cut(a.request.Pattern, " "); found {
		a.span.SetName(a.request.Method + " " + route)
		a.span.SetAttributes(attribute.String("http.route", route))
	}
	a.span.SetAttributes(attribute.Int("http.response.status_code", status))
	if status >= http.StatusInternalServerError {
		a.span.SetStatus(codes.Error, http.StatusText(status))
	}
	a.span.End()
	if spans := a.recorder.take(); spans != "" {
		a.Header().Set(Header, spans)
	}
}

// take hands out the oldest spans that fit into a header; empty when there are none.
func (r *Recorder) take() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var text strings.Builder
	count := 0
	for ; count < len(r.finished) && text.Len()+len(r.finished[count])+2 <= most; count++ {
		text.WriteByte("[,"[min(count, 1)])
		text.Write(r.finished[count])
	}
	if count == 0 {
		return ""
	}
	r.finished = r.finished[count:]
	text.WriteByte(']')
	return text.String()
}

// OnEnd keeps a finished span. With the next three methods a Recorder is what the SDK calls a span processor.
func (r *Recorder) OnEnd(ended sdk.ReadOnlySpan) {
	span := Span{
		Trace: ended.SpanContext().TraceID().String(), ID: ended.SpanContext().SpanID().String(), Parent: ended.Parent().SpanID().String(),
		Name: plain(ended.Name()), Kind: ended.SpanKind().String(),
		Start: ended.StartTime().UnixNano(), End: max(ended.StartTime().UnixNano(), ended.EndTime().UnixNano()),
	}
	if attributes := ended.Attributes(); len(attributes) > 0 {
		span.Attributes = make(map[string]string, len(attributes))
		for _, one := range attributes {
			span.Attributes[string(one.Key)] = plain(one.Value.String())
		}
	}
	if ended.Status().Code == codes.Error {
		span.Error = plain(ended.Status().Description)
	}
	content, err := json.Marshal(span)
	if err != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.finished) >= kept {
		r.finished = r.finished[1:]
	}
	r.finished = append(r.finished, content)
}

// OnStart does nothing.
func (*Recorder) OnStart(context.Context, sdk.ReadWriteSpan) {}

// Shutdown does nothing.
func (*Recorder) Shutdown(context.Context) error { return nil }

// ForceFlush does nothing.
func (*Recorder) ForceFlush(context.Context) error { return nil }

// plain is what a header may carry of a text.
func plain(text string) string {
	text = strings.Map(func(letter rune) rune {
		if letter < ' ' || letter > '~' {
			return '?'
		}
		return letter
	}, text)
	return text[:min(len(text), longest)]
}
