package jobs_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ringmaster/agent"
	"ringmaster/agent/jobs"
)

func open(t *testing.T, lifetime context.Context, folder string, run jobs.Run) *jobs.Store {
	t.Helper()
	store, err := jobs.Open(lifetime, folder, run, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return store
}

func succeedWith(result any, runs *atomic.Int32) jobs.Run {
	return func(context.Context, agent.JobKind, json.RawMessage, agent.Report) (any, error) {
		runs.Add(1)
		return result, nil
	}
}

func request(kind agent.JobKind) agent.JobRequest {
	return agent.JobRequest{Kind: kind, Parameters: json.RawMessage(`{"control_password":"sesame"}`)}
}

// ended waits for the job's end.
func ended(t *testing.T, store *jobs.Store, name string) agent.Job {
	t.Helper()
	job, err := store.Get(context.Background(), name, 20*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	return job
}

func put(t *testing.T, store *jobs.Store, name string, kind agent.JobKind) agent.Job {
	t.Helper()
	job, err := store.Put(t.Context(), name, request(kind))
	if err != nil {
		t.Fatal(err)
	}
	return job
}

func code(err error) string {
	var coded *agent.Error
	if errors.As(err, &coded) {
		return coded.Code
	}
	return ""
}

func TestAskingTwiceIsAskingOnce(t *testing.T) {
	var runs atomic.Int32
	store := open(t, t.Context(), t.TempDir(), succeedWith(map[string]string{"host_id": "h"}, &runs))
	if job := put(t, store, "op-1-start", agent.Start); job.State != agent.Running {
		t.Fatalf("%+v", job)
	}
	if job := ended(t, store, "op-1-start"); job.State != agent.Succeeded || job.Progress != 1 || string(job.Result) != `{"host_id":"h"}` {
		t.Fatalf("%+v", job)
	}
	if job := put(t, store, "op-1-start", agent.Start); job.State != agent.Succeeded || runs.Load() != 1 {
		t.Fatalf("%+v after %d runs", job, runs.Load())
	}
	if _, err := store.Put(t.Context(), "op-1-start", request(agent.Stop)); code(err) != "job-differs" {
		t.Fatal(err)
	}
}

func TestAFailedJobKeepsItsCodeAndIsStartedAnew(t *testing.T) {
	broken := atomic.Bool{}
	broken.Store(true)
	store := open(t, t.Context(), t.TempDir(), func(context.Context, agent.JobKind, json.RawMessage, agent.Report) (any, error) {
		if broken.Load() {
			return nil, agent.Errorf("engine-exited", "no space left")
		}
		return struct{}{}, nil
	})
	put(t, store, "a", agent.Start)
	if job := ended(t, store, "a"); job.State != agent.Failed || job.Error.Code != "engine-exited" {
		t.Fatalf("%+v", job)
	}
	broken.Store(false)
	if job := put(t, store, "a", agent.Start); job.State != agent.Running || job.Error != nil {
		t.Fatalf("%+v", job)
	}
	if job := ended(t, store, "a"); job.State != agent.Succeeded {
		t.Fatalf("%+v", job)
	}
}

func TestTheNextAgentGoesOnWithWhatRan(t *testing.T) {
	folder := t.TempDir()
	lifetime, end := context.WithCancel(context.Background())
	first := open(t, lifetime, folder, func(ctx context.Context, _ agent.JobKind, _ json.RawMessage, report agent.Report) (any, error) {
		report(0.5, "half-way")
		<-ctx.Done()
		return nil, ctx.Err()
	})
	put(t, first, "a", agent.Secure)
	end()
	first.Close()
	seen := make(chan string, 1)
	second := open(t, t.Context(), folder, func(_ context.Context, kind agent.JobKind, parameters json.RawMessage, _ agent.Report) (any, error) {
		seen <- string(kind) + string(parameters)
		return struct{}{}, nil
	})
	if job := ended(t, second, "a"); job.State != agent.Succeeded {
		t.Fatalf("%+v", job)
	}
	if with := strings.Join(strings.Fields(<-seen), ""); with != `secure{"control_password":"sesame"}` {
		t.Fatal(with)
	}
}

func TestTheNextAgentKnowsTheTraceOfWhatRan(t *testing.T) {
	const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	folder := t.TempDir()
	lifetime, end := context.WithCancel(context.Background())
	seen := make(chan string, 2)
	first := open(t, lifetime, folder, func(ctx context.Context, _ agent.JobKind, _ json.RawMessage, _ agent.Report) (any, error) {
		seen <- agent.Traceparent(ctx)
		<-ctx.Done()
		return nil, ctx.Err()
	})
	if _, err := first.Put(agent.WithTraceparent(t.Context(), traceparent), "a", request(agent.Secure)); err != nil {
		t.Fatal(err)
	}
	if got := <-seen; got != traceparent {
		t.Fatal(got)
	}
	end()
	first.Close()
	second := open(t, t.Context(), folder, func(ctx context.Context, _ agent.JobKind, _ json.RawMessage, _ agent.Report) (any, error) {
		seen <- agent.Traceparent(ctx)
		return struct{}{}, nil
	})
	ended(t, second, "a")
	if got := <-seen; got != traceparent {
		t.Fatal(got)
	}
}

func TestFinishedJobsAreRememberedAndTheirSecretsAreNot(t *testing.T) {
	folder := t.TempDir()
	var runs atomic.Int32
	first := open(t, t.Context(), folder, succeedWith(struct{}{}, &runs))
	put(t, first, "a", agent.Secure)
	ended(t, first, "a")
	content, err := os.ReadFile(filepath.Join(folder, "a.json"))
	if err != nil || strings.Contains(string(content), "sesame") {
		t.Fatal(string(content), err)
	}
	second := open(t, t.Context(), folder, succeedWith(struct{}{}, &runs))
	if job := put(t, second, "a", agent.Secure); job.State != agent.Succeeded || runs.Load() != 1 || len(second.List()) != 1 {
		t.Fatalf("%+v", job)
	}
}

func TestDeletingInterruptsAndForgets(t *testing.T) {
	folder := t.TempDir()
	store := open(t, t.Context(), folder, func(ctx context.Context, _ agent.JobKind, _ json.RawMessage, _ agent.Report) (any, error) {
		<-ctx.Done()
		if agent.JobName(ctx) != "a" || !agent.JobDeleted(ctx) {
			t.Errorf("%s: %v", agent.JobName(ctx), context.Cause(ctx))
		}
		return nil, ctx.Err()
	})
	put(t, store, "a", agent.Prove)
	for range 2 {
		if err := store.Delete("a"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := store.Get(t.Context(), "a", 0); code(err) != "job-not-found" {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(folder, "*.json")); len(left) != 0 {
		t.Fatal(left)
	}
}

func TestProgressOnlyGrows(t *testing.T) {
	reported, goOn := make(chan struct{}), make(chan struct{})
	store := open(t, t.Context(), t.TempDir(), func(_ context.Context, _ agent.JobKind, _ json.RawMessage, report agent.Report) (any, error) {
		report(0.6, "far")
		report(0.2, "less far")
		close(reported)
		<-goOn
		return struct{}{}, nil
	})
	put(t, store, "a", agent.Start)
	<-reported
	job, err := store.Get(t.Context(), "a", 0)
	if err != nil || job.Progress != 0.6 || job.Message != "less far" {
		t.Fatalf("%+v %v", job, err)
	}
	close(goOn)
	ended(t, store, "a")
}

func TestOddNamesAndKindsAreRefused(t *testing.T) {
	var runs atomic.Int32
	store := open(t, t.Context(), t.TempDir(), succeedWith(struct{}{}, &runs))
	for _, name := range []string{"", "..", "../etc/passwd", "a/b", ".hidden", "a b", "a\x00", strings.Repeat("a", 129)} {
		if _, err := store.Put(t.Context(), name, request(agent.Start)); code(err) != "invalid-name" {
			t.Errorf("%q: %v", name, err)
		}
	}
	if _, err := store.Put(t.Context(), "a", request("format-disks")); code(err) != "unknown-kind" {
		t.Error(err)
	}
}
