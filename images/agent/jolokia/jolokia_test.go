package jolokia

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// jvm answers each request with the texts given, and keeps what it was asked.
func jvm(t *testing.T, status int, answer string) (*Client, *string) {
	t.Helper()
	asked := new(string)
	server := httptest.NewServer(http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		if user, password, _ := request.BasicAuth(); user != "agent" || password != "secret" || request.Method != http.MethodPost {
			response.WriteHeader(http.StatusUnauthorized)
			return
		}
		content, _ := io.ReadAll(request.Body)
		*asked = string(content)
		response.WriteHeader(status)
		_, _ = io.WriteString(response, answer)
	}))
	t.Cleanup(server.Close)
	return New(func() (Login, error) {
		return Login{Address: strings.TrimPrefix(server.URL, "http://"), Username: "agent", Password: "secret"}, nil
	}), asked
}

func TestAnAttributeIsRead(t *testing.T) {
	client, asked := jvm(t, 200, `{"status": 200, "value": "NORMAL"}`)
	var mode string
	if err := client.Do(t.Context(), Read("a:type=B", "OperationMode"), &mode); err != nil || mode != "NORMAL" {
		t.Fatal(mode, err)
	}
	if *asked != `{"type":"read","mbean":"a:type=B","attribute":"OperationMode"}` {
		t.Error(*asked)
	}
}

func TestAnOperationIsGivenItsArguments(t *testing.T) {
	client, asked := jvm(t, 200, `{"status": 200, "value": null}`)
	if err := client.Do(t.Context(), Exec("a:type=B", "rebuild(java.lang.String,boolean)", nil, false), nil); err != nil {
		t.Fatal(err)
	}
	var call map[string]any
	if err := json.Unmarshal([]byte(*asked), &call); err != nil || len(call["arguments"].([]any)) != 2 {
		t.Error(*asked, err)
	}
}

func TestEachQuestionOfABatchHasItsOwnAnswer(t *testing.T) {
	client, _ := jvm(t, 200, `[{"status": 200, "value": 7},
		{"status": 404, "error_type": "javax.management.InstanceNotFoundException", "error": "javax.management.InstanceNotFoundException : c:type=D"}]`)
	answers, err := client.Batch(t.Context(), []Call{Read("a:type=B", "Count"), Read("c:type=D", "Count")})
	if err != nil {
		t.Fatal(err)
	}
	var count int
	if err := answers[0].Into(&count); err != nil || count != 7 {
		t.Error(count, err)
	}
	if err := answers[1].Into(&count); !Missing(err) || Refusal(err).Message != "c:type=D" {
		t.Error(err)
	}
}

func TestWhatAnOperationThrowsIsARefusal(t *testing.T) {
	client, _ := jvm(t, 200, `{"status": 500, "error_type": "java.lang.UnsupportedOperationException",
		"error": "java.lang.UnsupportedOperationException : Not enough live nodes"}`)
	err := client.Do(t.Context(), Exec("a:type=B", "decommission", false), nil)
	if refusal := Refusal(err); refusal == nil || refusal.Message != "Not enough live nodes" || Missing(err) {
		t.Fatal(err)
	}
}

func TestNoAnswerIsNoRefusal(t *testing.T) {
	for _, answer := range []struct {
		status int
		text   string
	}{{200, "<html>"}, {401, ""}, {200, `[{"status": 200, "value": 1}, {"status": 200, "value": 2}]`}} {
		client, _ := jvm(t, answer.status, answer.text)
		if _, err := client.Batch(t.Context(), []Call{Read("a:type=B", "C")}); err == nil || Refusal(err) != nil {
			t.Errorf("%+v: %v", answer, err)
		}
	}
	unknown := errors.New("not started yet")
	client := New(func() (Login, error) { return Login{}, unknown })
	if err := client.Do(t.Context(), Read("a:type=B", "C"), nil); !errors.Is(err, unknown) {
		t.Error(err)
	}
}

func TestNobodyWaitsLongerThanItsContext(t *testing.T) {
	stuck := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-stuck }))
	defer server.Close()
	defer close(stuck)
	client := New(func() (Login, error) { return Login{Address: strings.TrimPrefix(server.URL, "http://")}, nil })
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := client.Do(ctx, Exec("a:type=B", "decommission"), nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}
