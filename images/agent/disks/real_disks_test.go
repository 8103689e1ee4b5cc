package disks

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ringmaster/agent"
)

// loops are real loop devices: everything but the disks' model is the kernel's.
type loops struct {
	t       *testing.T
	machine Machine
	images  []string
	devices []string
}

// withLoops skips, and says why, where the kernel or the user is not up to it.
func withLoops(t *testing.T, count int) *loops {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("loop devices need root")
	}
	for _, program := range []string{"losetup", "mkfs.xfs", "blkid", "wipefs", "mount", "umount", "udevadm"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not installed (apt-get install mdadm xfsprogs udev)", program)
		}
	}
	systems, err := os.ReadFile("/proc/filesystems")
	if err != nil || !strings.Contains(string(systems), "\txfs\n") {
		t.Skip("this kernel has no XFS loaded")
	}
	if _, err := os.Stat("/proc/mdstat"); err != nil && count > 1 {
		t.Skip("this kernel has no RAID (no /proc/mdstat); arrays are tried in the emulated machine")
	}
	l := &loops{t: t, machine: Machine{
		Runner: Programs{}, Root: t.TempDir(), Models: []string{"Test Disk"}, Mountpoint: filepath.Join(t.TempDir(), "data"), State: t.TempDir(),
	}}
	if err := os.Symlink("/proc", filepath.Join(l.machine.Root, "proc")); err != nil {
		t.Fatal(err)
	}
	for range count {
		image := filepath.Join(t.TempDir(), "disk")
		if err := os.WriteFile(image, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(image, 320<<20); err != nil { // XFS wants 300 MiB
			t.Fatal(err)
		}
		l.images = append(l.images, image)
	}
	t.Cleanup(l.off)
	l.on()
	return l
}

// on attaches the disks, as at a boot.
func (l *loops) on() {
	l.t.Helper()
	for _, image := range l.images {
		output, err := exec.Command("losetup", "--find", "--show", image).Output()
		if err != nil {
			l.t.Skipf("no loop device can be had: %v", err)
		}
		device := strings.TrimSpace(string(output))
		l.devices = append(l.devices, device)
		folder := filepath.Join(l.machine.Root, "sys/block", filepath.Base(device))
		if err := os.MkdirAll(filepath.Join(folder, "device"), 0o755); err != nil {
			l.t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, "device/model"), []byte("Test Disk\n"), 0o644); err != nil {
			l.t.Fatal(err)
		}
	}
}

// off unmounts and detaches all, as at a shutdown.
func (l *loops) off() {
	_ = exec.Command("umount", l.machine.Mountpoint).Run()
	for _, device := range l.devices {
		_ = exec.Command("losetup", "--detach", device).Run()
	}
	l.devices = nil
	_ = os.RemoveAll(filepath.Join(l.machine.Root, "sys"))
}

func (l *loops) boot(membership Membership) (Decision, error) {
	l.t.Helper()
	found, err := l.machine.Look(l.t.Context())
	if err != nil {
		l.t.Fatal(err)
	}
	wanted := Wanted{Identity: ours, Membership: membership}
	decision := Decide(found, wanted)
	_, err = l.machine.CarryOut(l.t.Context(), found, wanted, decision)
	return decision, err
}

func refusedWith(err error, code string) bool {
	var coded *agent.Error
	return errors.As(err, &coded) && coded.Code == code
}

func TestARealDiskIsFormattedOnceAndKeepsItsData(t *testing.T) {
	l := withLoops(t, 1)
	if decision, err := l.boot(New); err != nil || decision.Action != Format {
		t.Fatal(decision, err)
	}
	data := filepath.Join(l.machine.Mountpoint, "data.db")
	if err := os.WriteFile(data, []byte("rows"), 0o600); err != nil {
		t.Fatal(err)
	}
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(mounts)) {
		if fields := strings.Fields(line); fields[1] == l.machine.Mountpoint {
			for option := range strings.SplitSeq(MountOptions, ",") {
				if !strings.Contains(fields[3], option) {
					t.Errorf("mounted without %s: %s", option, line)
				}
			}
		}
	}
	if decision, err := l.boot(New); err != nil || decision.Action != Mount {
		t.Error("a second call:", decision, err)
	}
	for _, membership := range []Membership{New, Member} {
		l.off()
		l.on()
		if decision, err := l.boot(membership); err != nil || decision.Action != Mount {
			t.Fatal("a reboot:", decision, err)
		}
		if content, err := os.ReadFile(data); err != nil || string(content) != "rows" {
			t.Fatalf("after a reboot: %q %v", content, err)
		}
	}
}

func TestARealBlankDiskOfAMemberIsNotFormatted(t *testing.T) {
	l := withLoops(t, 1)
	if decision, err := l.boot(Member); !refusedWith(err, LocalDataLost) {
		t.Fatal(decision, err)
	}
	if output, err := exec.Command("blkid", "-p", l.devices[0]).Output(); err == nil {
		t.Errorf("something was written: %s", output)
	}
}

func TestARealMachineThatLostItsDataIsNotNewAgain(t *testing.T) {
	l := withLoops(t, 1)
	if decision, err := l.boot(New); err != nil {
		t.Fatal(decision, err)
	}
	l.off()
	if err := os.Truncate(l.images[0], 0); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(l.images[0], 320<<20); err != nil {
		t.Fatal(err)
	}
	l.on()
	if decision, err := l.boot(New); !refusedWith(err, LocalDataLost) {
		t.Fatal(decision, err)
	}
}

func TestARealForeignDiskIsNotTouched(t *testing.T) {
	l := withLoops(t, 1)
	for _, foreign := range [][]string{{"mkfs.xfs", "-q", "-f"}, {"mkfs.ext4", "-q", "-F"}, {"mkswap", "-q"}} {
		if output, err := exec.Command(foreign[0], append(foreign[1:], l.devices[0])...).CombinedOutput(); err != nil {
			t.Skipf("%s: %v %s", foreign[0], err, output)
		}
		before, _ := exec.Command("blkid", "-p", l.devices[0]).Output()
		for _, membership := range []Membership{New, Replacing, Member} {
			if decision, err := l.boot(membership); !refusedWith(err, ForeignData) {
				t.Errorf("%s, %s: %+v %v", foreign[0], membership, decision, err)
			}
		}
		if after, _ := exec.Command("blkid", "-p", l.devices[0]).Output(); string(after) != string(before) {
			t.Errorf("%s: %s became %s", foreign[0], before, after)
		}
		if output, err := exec.Command("wipefs", "-a", l.devices[0]).CombinedOutput(); err != nil {
			t.Fatal(err, string(output))
		}
	}
}

// failing stops before one of the commands, as a power loss would.
type failing struct {
	Programs
	at    int
	calls *int
}

var errPower = errors.New("power loss")

func (f failing) Run(ctx context.Context, program string, arguments ...string) (string, error) {
	*f.calls++
	if *f.calls > f.at {
		return "", errPower
	}
	return f.Programs.Run(ctx, program, arguments...)
}

func TestAFormatGoesOnAfterAPowerLossAtAnyCommand(t *testing.T) {
	for at := 2; ; at++ {
		l := withLoops(t, 1)
		calls := 0
		l.machine.Runner = failing{at: at, calls: &calls}
		found, err := l.machine.Look(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		wanted := Wanted{Identity: ours, Membership: New}
		_, err = l.machine.CarryOut(t.Context(), found, wanted, Decide(found, wanted))
		if err == nil {
			return
		}
		if !errors.Is(err, errPower) {
			t.Fatal(at, err)
		}
		l.machine.Runner = Programs{}
		for _, left := range mountedBelow(t, l.machine.State) {
			_ = exec.Command("umount", left).Run()
		}
		l.off()
		l.on()
		if decision, err := l.boot(New); err != nil {
			t.Fatalf("after a power loss at command %d: %+v %v", at, decision, err)
		}
		l.off()
	}
}

func mountedBelow(t *testing.T, folder string) []string {
	t.Helper()
	content, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for line := range strings.Lines(string(content)) {
		if fields := strings.Fields(line); strings.HasPrefix(fields[1], folder+"/") {
			found = append(found, fields[1])
		}
	}
	return found
}
