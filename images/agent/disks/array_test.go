package disks

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// pretended answers as the programs would for two disks, and keeps what was run.
type pretended struct {
	t     *testing.T
	root  string
	ran   []string
	types map[string]string
	// whole: mdadm finds all members of the array.
	whole bool
}

func (p *pretended) Run(_ context.Context, program string, arguments ...string) (string, error) {
	if program != "udevadm" && program != "blkid" {
		p.ran = append(p.ran, program+" "+strings.Join(arguments, " "))
	}
	last := arguments[len(arguments)-1]
	switch program {
	case "blkid":
		if p.types[last] == "" {
			return "", &ExitError{Program: program, Status: 8}
		}
		return "TYPE=" + p.types[last] + "\nUUID=0b1c\n", nil
	case "mdadm":
		switch arguments[0] {
		case "--create":
			p.types["/dev/nvme1n1"], p.types["/dev/nvme2n1"] = raid, raid
			p.assembled()
		case "--assemble":
			if !p.whole {
				return "", &ExitError{Program: program, Status: 1, Said: "not enough to start the array"}
			}
			p.assembled()
		}
	case "mkfs.xfs":
		p.types["/dev/md127"] = "xfs"
	}
	return "", nil
}

func (p *pretended) assembled() {
	for path, content := range map[string]string{
		"nvme1n1/holders/md127": "", "nvme2n1/holders/md127": "", "md127/md/raid_disks": "2", "md127/md/array_state": "clean",
	} {
		p.put("sys/block/"+path, content)
	}
}

func (p *pretended) put(path, content string) {
	p.t.Helper()
	full := filepath.Join(p.root, path)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(content+"\n"), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

func twoDisks(t *testing.T) (*pretended, Machine) {
	p := &pretended{t: t, root: t.TempDir(), types: map[string]string{}}
	for name, model := range map[string]string{
		"nvme0n1": "Amazon Elastic Block Store", "nvme1n1": "Amazon EC2 NVMe Instance Storage",
		"nvme2n1": "Amazon EC2 NVMe Instance Storage", "nvme3n1": "Amazon EC2 NVMe Instance Storage",
	} {
		p.put("sys/block/"+name+"/device/model", model+"                ")
		p.put("sys/block/"+name+"/size", "1855468750")
	}
	p.put("sys/block/nvme3n1/nvme3n1p1/partition", "1")
	p.put("proc/self/mounts", "/dev/nvme0n1p1 / ext4 rw 0 0\n/dev/nvme3n1p1 /scratch ext4 rw 0 0")
	return p, Machine{Runner: p, Root: p.root, Models: LocalModels(), Mountpoint: filepath.Join(p.root, "data"), State: t.TempDir()}
}

func TestAnArrayIsMadeOfAllLocalDisksAndNoOther(t *testing.T) {
	p, machine := twoDisks(t)
	found := Found{Disks: []Disk{{Path: "/dev/nvme1n1"}, {Path: "/dev/nvme2n1"}}}
	wanted := Wanted{Identity: ours, Membership: New}
	names, err := machine.candidates()
	if err != nil || strings.Join(names, " ") != "nvme1n1 nvme2n1" {
		t.Fatal(names, err)
	}
	p.types["/dev/md/ringmaster"] = "xfs"
	if _, err := machine.CarryOut(t.Context(), found, wanted, Decide(found, wanted)); err != nil {
		t.Fatal(err)
	}
	ran := strings.Join(p.ran, "\n")
	for _, wanted := range []string{
		"mdadm --create /dev/md/ringmaster --run --level=0 --chunk=1024 --metadata=1.2 --name=ringmaster --homehost=any --raid-devices=2 /dev/nvme1n1 /dev/nvme2n1",
		"mkfs.xfs -q -K -L ringmaster /dev/md/ringmaster",
		"mount -t xfs -o noatime,discard,lazytime UUID=0b1c " + machine.Mountpoint,
	} {
		if !strings.Contains(ran, wanted) {
			t.Errorf("%q was not run; these were:\n%s", wanted, ran)
		}
	}
}

func TestAnArrayWithAMissingDiskIsNotStarted(t *testing.T) {
	p, machine := twoDisks(t)
	p.types["/dev/nvme1n1"], p.types["/dev/nvme2n1"] = raid, raid
	found, err := machine.Look(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if decision := Decide(found, Wanted{Identity: ours, Membership: Member}); decision.Code != ArrayIncomplete {
		t.Errorf("%+v", decision)
	}
	p.whole = true
	p.types["/dev/md127"] = "xfs"
	if found, err = machine.Look(t.Context()); err != nil || found.Volume == nil || !found.Volume.Whole || found.Volume.Device != "/dev/md127" {
		t.Errorf("%+v %v", found, err)
	}
	if strings.Contains(strings.Join(p.ran, "\n"), "--run") {
		t.Errorf("an array was forced to start: %v", p.ran)
	}
}
