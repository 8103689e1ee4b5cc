// Package machinetest is a recorded machine for tests: the sysfs and procfs of an i4i.xlarge with one blank local disk, a metadata service, and
// programs that only pretend.
package machinetest

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ringmaster/agent/disks"
)

// Recorded is the machine.
type Recorded struct {
	// Root is where its sysfs, procfs and files are.
	Root string
	// Metadata is the URL of its metadata service.
	Metadata string
	// Ran are the programs that were asked for.
	Ran []string
	// After is called when a program has run, nil does nothing.
	After func(program string)

	t *testing.T
	// types are what blkid finds on a device.
	types map[string]string
}

// New is a machine as it comes from the cloud. tree is the path of tuning/testdata/i4i.xlarge.tree.
func New(t *testing.T, tree string) *Recorded {
	t.Helper()
	r := &Recorded{t: t, Root: t.TempDir(), types: map[string]string{"/dev/nvme1n1": "blank"}}
	content, err := os.ReadFile(tree)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for line := range strings.Lines(string(content)) {
		if path, value, found := strings.Cut(strings.TrimRight(line, "\n"), " ="); found && !strings.HasPrefix(line, "#") {
			files[path] += strings.TrimPrefix(value, " ") + "\n"
		}
	}
	for path, value := range files {
		r.Put(path, value)
	}
	cloud := httptest.NewServer(http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		fmt.Fprint(response, map[string]string{
			"/latest/api/token": "t", "/latest/meta-data/instance-id": "i-1", "/latest/meta-data/instance-type": "i4i.xlarge",
			"/latest/meta-data/placement/availability-zone": "us-east-1a", "/latest/meta-data/local-ipv4": "10.0.0.5", "/latest/user-data": `{"node_id": "n1", "cluster_id": "c1"}`,
		}[request.URL.Path])
	}))
	t.Cleanup(cloud.Close)
	r.Metadata = cloud.URL
	return r
}

// Run implements disks.Runner.
func (r *Recorded) Run(_ context.Context, program string, arguments ...string) (string, error) {
	last := arguments[len(arguments)-1]
	r.Ran = append(r.Ran, program)
	if r.After != nil {
		defer r.After(program)
	}
	switch program {
	case "blkid":
		if r.types[last] == "" {
			return "", &disks.ExitError{Program: program, Status: 8}
		}
		if r.types[last] == "blank" {
			return "", nil
		}
		return "TYPE=" + r.types[last] + "\nUUID=0b1c\n", nil
	case "mkfs.xfs":
		r.types[last] = "xfs"
	case "mount":
		r.Put("proc/self/mounts", "/dev/nvme0n1p1 / ext4 rw 0 0\n/dev/nvme1n1 "+last+" xfs rw,noatime,discard,lazytime 0 0\n")
	case "umount":
		r.Put("proc/self/mounts", "/dev/nvme0n1p1 / ext4 rw 0 0\n")
	}
	return "", nil
}

// Put writes one of its files.
func (r *Recorded) Put(path, content string) {
	r.t.Helper()
	full := filepath.Join(r.Root, path)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(content), 0o644); err != nil {
		r.t.Fatal(err)
	}
}
