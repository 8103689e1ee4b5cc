package process

import (
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func TestAProgramStaysOnItsCPUsAndTheAgentDoesNot(t *testing.T) {
	var before unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		t.Fatal(err)
	}
	if before.Count() < 2 {
		t.Skip("one CPU is no choice")
	}
	last := -1
	for id := range 1024 {
		if before.IsSet(id) {
			last = id
		}
	}
	spec := Spec{Program: "sleep", Arguments: []string{"60"}, Folder: t.TempDir(), Output: filepath.Join(t.TempDir(), "out"), CPUs: []int{last}}
	confined, err := Start(spec)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = Signal(confined, syscall.SIGKILL) }()
	spec.CPUs = nil
	free, err := Start(spec)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = Signal(free, syscall.SIGKILL) }()
	one, err := CPUs(confined)
	if err != nil {
		t.Fatal(err)
	}
	all, err := CPUs(free)
	if err != nil {
		t.Fatal(err)
	}
	if one == all || one == "" {
		t.Errorf("confined to %q, free on %q", one, all)
	}
	if files, err := Limit(free, "Max open files"); err != nil || files == "" {
		t.Error(files, err)
	}
}
