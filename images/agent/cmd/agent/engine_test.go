package main

import (
	"log/slog"
	"strings"
	"testing"

	"ringmaster/agent"
)

func TestTheEngineIsTheOneThatTheMachineIsFor(t *testing.T) {
	for engine, wanted := range map[string]string{"": "cassandra", "cassandra": "cassandra", "scylla": "scylla"} {
		chosen := options{stateDir: t.TempDir(), data: agent.UserData{NodeID: "nod_1", Address: "127.0.0.1"}}
		if engine != "" {
			chosen.data.Machine = &agent.MachineSpec{Engine: engine}
		}
		joined, err := open(chosen, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		if status := joined.engine.Status(t.Context()); status.Name != wanted || status.State != agent.EngineAbsent {
			t.Errorf("%q: %+v", engine, status)
		}
	}
	chosen := options{stateDir: t.TempDir(), data: agent.UserData{NodeID: "nod_1", Address: "127.0.0.1", Machine: &agent.MachineSpec{Engine: "mongo"}}}
	if _, err := open(chosen, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), `"mongo"`) {
		t.Errorf("%v", err)
	}
}
