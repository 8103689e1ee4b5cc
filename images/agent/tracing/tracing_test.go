package tracing_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"ringmaster/agent"
	"ringmaster/agent/tracing"
)

const (
	theirTrace  = "4bf92f3577b34da6a3ce929d0e0e4736"
	theirSpan   = "00f067aa0ba902b7"
	sampled     = "00-" + theirTrace + "-" + theirSpan + "-01"
	notSampled  = "00-" + theirTrace + "-" + theirSpan + "-00"
	otherSample = "00-11111111111111111111111111111111-2222222222222222-01"
)

// routed answers like the agent, by patterns; orders are the traceparents of what came in.
func routed(status int, orders *[]string) http.Handler {
	routes := http.NewServeMux()
	routes.HandleFunc("PUT /v1/jobs/{name}", func(response http.ResponseWriter, request *http.Request) {
		*orders = append(*orders, agent.Traceparent(request.Context()))
		response.WriteHeader(status)
	})
	return routes
}

func call(t *testing.T, handler http.Handler, traceparent string) (string, []tracing.Span) {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), http.MethodPut, "/v1/jobs/secret-name", http.NoBody)
	if traceparent != "" {
		request.Header.Set("Traceparent", traceparent)
	}
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, request)
	header := answer.Header().Get(tracing.Header)
	if header == "" {
		return "", nil
	}
	var spans []tracing.Span
	if err := json.Unmarshal([]byte(header), &spans); err != nil {
		t.Fatal(header, err)
	}
	return header, spans
}

func TestACallIsHandedBackWithItsOwnAnswer(t *testing.T) {
	var orders []string
	_, spans := call(t, tracing.New().Handler(routed(http.StatusOK, &orders)), sampled)
	if len(spans) != 1 {
		t.Fatalf("%+v", spans)
	}
	span := spans[0]
	if span.Trace != theirTrace || span.Parent != theirSpan || span.Name != "PUT /v1/jobs/{name}" || span.Kind != "server" || span.Error != "" {
		t.Fatalf("%+v", span)
	}
	if span.Attributes["http.response.status_code"] != "200" || span.Start <= 0 || span.End < span.Start {
		t.Fatalf("%+v", span)
	}
	if want := "00-" + theirTrace + "-" + span.ID + "-01"; orders[0] != want {
		t.Fatalf("%s, not %s", orders[0], want)
	}
}

func TestWhatIsNotSampledIsNotNoted(t *testing.T) {
	var orders []string
	handler := tracing.New().Handler(routed(http.StatusOK, &orders))
	for _, sent := range []string{"", notSampled, "nonsense", "00-00000000000000000000000000000000-" + theirSpan + "-01"} {
		if header, _ := call(t, handler, sent); header != "" {
			t.Errorf("%q: %s", sent, header)
		}
	}
	if strings.Join(orders, "") != "" {
		t.Fatal(orders)
	}
}

func TestAFailedCallIsAnError(t *testing.T) {
	var orders []string
	_, spans := call(t, tracing.New().Handler(routed(http.StatusServiceUnavailable, &orders)), sampled)
	if spans[0].Error != "Service Unavailable" {
		t.Fatalf("%+v", spans[0])
	}
}

func TestAJobHangsBelowTheCallThatOrderedIt(t *testing.T) {
	recorder := tracing.New()
	run := recorder.Jobs(func(context.Context, agent.JobKind, json.RawMessage, agent.Report) (any, error) {
		return nil, agent.Errorf("engine-exited", "sesame")
	})
	ctx := agent.WithTraceparent(agent.WithJobName(t.Context(), "op-1-start"), sampled)
	if _, err := run(ctx, agent.Start, json.RawMessage(`{"password":"sesame"}`), nil); err == nil {
		t.Fatal("the job's error is lost")
	}
	if _, err := run(t.Context(), agent.Start, nil, nil); err == nil {
		t.Fatal("the job's error is lost")
	}
	var orders []string
	header, spans := call(t, recorder.Handler(routed(http.StatusOK, &orders)), otherSample)
	if len(spans) != 2 || spans[0].Name != "job start" || spans[0].Trace != theirTrace || spans[0].Parent != theirSpan || spans[0].Error != "engine-exited" {
		t.Fatalf("%+v", spans)
	}
	if spans[0].Attributes["ringmaster.job.name"] != "op-1-start" || strings.Contains(header, "sesame") || strings.Contains(header, "secret-name") {
		t.Fatal(header)
	}
}

func TestWhatNobodyFetchesIsBounded(t *testing.T) {
	recorder := tracing.New()
	run := recorder.Jobs(func(context.Context, agent.JobKind, json.RawMessage, agent.Report) (any, error) { return nil, nil })
	for range 2000 {
		if _, err := run(agent.WithTraceparent(agent.WithJobName(t.Context(), strings.Repeat("ä", 300)), sampled), agent.Start, nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	var orders []string
	handler, total := recorder.Handler(routed(http.StatusOK, &orders)), 0
	for answers := 0; ; answers++ {
		header, spans := call(t, handler, sampled)
		if len(header) > 6<<10 || answers > 200 {
			t.Fatal(len(header), answers)
		}
		total += len(spans)
		if len(spans) <= 1 {
			break
		}
	}
	if total < 500 || total > 700 {
		t.Fatalf("%d of 2000 were kept", total)
	}
}
