package cassandra

import (
	"context"
	"path/filepath"

	"golang.org/x/sys/unix"

	"ringmaster/agent"
	"ringmaster/agent/statefile"
)

// dataLost tells whether a node that has served before has nothing left: every engine that was ever up has written who it
// is, and is never without.
func (f folders) dataLost() bool {
	found, err := filepath.Glob(filepath.Join(f.data(), "system", "local-*", "*-Data.db"))
	return err == nil && len(found) == 0
}

// startable refuses what must not be started: a node that has left its ring, one whose data is gone, and one that is a member
// with nobody knows what. Error codes: node-left, local-data-lost, join-unwatched.
func (e *Engine) startable(booted bool) error {
	if e.hasLeft() {
		return agent.Errorf("node-left", "The node has left its ring; its data is the other nodes' now.")
	}
	if booted {
		if e.place.dataLost() {
			return agent.Errorf("local-data-lost", "The node has served before, and its data is gone. Started now it would answer without data. Replace it.")
		}
		return nil
	}
	if stage, err := e.joiningStage(); err == nil && stage == stageUnseen {
		return agent.Errorf("join-unwatched", "The node became a member while no agent watched; nobody knows with how much of its data. Replace it.")
	}
	return nil
}

// Machine implements agent.Engine.
func (e *Engine) Machine(context.Context) agent.MachineStatus {
	condition := e.supervisor.Condition()
	status := agent.MachineStatus{LocalDataLost: condition.Booted && !condition.Alive && !e.hasLeft() && e.place.dataLost()}
	var system unix.Statfs_t
	if unix.Statfs(e.place.data(), &system) == nil {
		// As df counts: what the file system keeps from ordinary users is neither free nor in use.
		used := system.Blocks - system.Bfree
		status.Disk = &agent.DiskStatus{TotalBytes: int64(used+system.Bavail) * system.Bsize, FreeBytes: int64(system.Bavail) * system.Bsize}
		if condition.Alive {
			status.Disk.DataBytes = e.look.dataBytes()
		}
	}
	if own, err := e.identity.Own(); err == nil {
		status.EngineCertificateExpiresAt = &own.NotAfter
	}
	status.Traffic = e.traffic.Status()
	return status
}

// running is what the engine was last started with.
type running struct {
	Revision string `json:"revision"`
}

func (f folders) running() string { return filepath.Join(f.root, "running.json") }

func (e *Engine) noteRevision(revision string) error {
	return statefile.WriteJSON(e.place.running(), running{Revision: revision})
}

func (e *Engine) runningRevision() string {
	var noted running
	_ = statefile.ReadJSON(e.place.running(), &noted)
	return noted.Revision
}
