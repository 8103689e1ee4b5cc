package disks

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"ringmaster/agent/statefile"
)

// Runner runs a program to its end and returns what it printed. Programs that end with another status than 0 are an *ExitError.
type Runner interface {
	Run(ctx context.Context, program string, arguments ...string) (string, error)
}

// ExitError is a program that ended with a status.
type ExitError struct {
	Program string
	Status  int
	// Said is its standard error, shortened.
	Said string
}

func (e *ExitError) Error() string {
	return fmt.Sprintf("%s ended with %d: %s", e.Program, e.Status, e.Said)
}

// Programs runs the machine's own programs.
type Programs struct{}

// Run implements Runner.
func (Programs) Run(ctx context.Context, program string, arguments ...string) (string, error) {
	command := exec.CommandContext(ctx, program, arguments...)
	command.Env = append(os.Environ(), "LC_ALL=C")
	output, err := command.Output()
	var ended *exec.ExitError
	if errors.As(err, &ended) && ended.ExitCode() >= 0 {
		said := strings.TrimSpace(string(ended.Stderr))
		return string(output), &ExitError{Program: program, Status: ended.ExitCode(), Said: said[:min(len(said), 400)]}
	}
	if err != nil {
		return "", fmt.Errorf("run %s: %w", program, err)
	}
	return string(output), nil
}

const (
	identityFile = ".ringmaster-node.json"
	arrayDevice  = "/dev/md/ringmaster"
	label        = "ringmaster"
)

// LocalModels are the models of local NVMe disks: what AWS and GCP call them. The disks of volumes that outlive the machine
// have other ones (Amazon Elastic Block Store, nvme_card-pd).
func LocalModels() []string {
	return []string{"Amazon EC2 NVMe Instance Storage", "nvme_card", "nvme_card[0-9]*"}
}

// Machine is where disks are looked for and mounted.
type Machine struct {
	Runner Runner
	// Root is where sysfs and procfs are: "/" but in tests.
	Root string
	// Models are patterns of path.Match; a disk of another model is never touched.
	Models []string
	// Mountpoint is where the engine has its data, State the folder on the machine's root disk for what must be known before.
	Mountpoint, State string
}

// Look finds out what is on the disks. It changes nothing, but assembles an array whose members are all there.
func (m Machine) Look(ctx context.Context) (Found, error) {
	if err := m.settle(ctx); err != nil {
		return Found{}, err
	}
	var found Found
	names, err := m.candidates()
	if err != nil {
		return Found{}, err
	}
	var members []string
	for _, name := range names {
		disk := Disk{Path: "/dev/" + name, Model: m.read("sys/block", name, "device/model")}
		sectors, _ := strconv.ParseInt(m.read("sys/block", name, "size"), 10, 64)
		disk.Bytes = sectors * 512 // the unit of this file, whatever the disk's own sectors are
		tags, err := m.probe(ctx, disk.Path)
		if err != nil {
			return Found{}, err
		}
		disk.Signature = tags.signature()
		if disk.Signature == "linux_raid_member" {
			members = append(members, name)
		}
		found.Disks = append(found.Disks, disk)
	}
	if found.Begun, err = kept(m.begunPath()); err != nil {
		return Found{}, err
	}
	if found.Formatted, err = kept(m.formattedPath()); err != nil {
		return Found{}, err
	}
	switch {
	case len(members) > 0:
		found.Volume, err = m.array(ctx, members)
	case len(found.Disks) == 1 && found.Disks[0].Signature == "xfs":
		found.Volume = &Volume{Device: found.Disks[0].Path, Whole: true, Members: []string{found.Disks[0].Path}}
	}
	if err != nil || found.Volume == nil || !found.Volume.Whole {
		return found, err
	}
	return found, m.readVolume(ctx, found.Volume)
}

// candidates are the names of the disks for data: of the right model, and not what the machine runs from.
func (m Machine) candidates() ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(m.Root, "sys/block"))
	if err != nil {
		return nil, err
	}
	mounts, err := m.mounts()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, entry := range entries {
		name := entry.Name()
		model := m.read("sys/block", name, "device/model")
		if model != "" && slices.ContainsFunc(m.Models, func(pattern string) bool { match, _ := path.Match(pattern, model); return match }) &&
			!m.inUse(name, mounts) {
			names = append(names, name)
		}
	}
	return names, nil
}

// inUse tells whether the disk or a part of it is mounted anywhere but where the data belongs.
func (m Machine) inUse(name string, mounts map[string]string) bool {
	for device, target := range mounts {
		base := filepath.Base(device)
		_, err := os.Stat(filepath.Join(m.Root, "sys/block", name, base, "partition"))
		if (base == name || err == nil) && target != m.Mountpoint {
			return true
		}
	}
	return false
}

// mounts are the mounted devices and where.
func (m Machine) mounts() (map[string]string, error) {
	content, err := os.ReadFile(filepath.Join(m.Root, "proc/self/mounts"))
	if err != nil {
		return nil, err
	}
	found := map[string]string{}
	for line := range strings.Lines(string(content)) {
		if fields := strings.Fields(line); len(fields) > 1 && strings.HasPrefix(fields[0], "/dev/") {
			found[fields[0]] = fields[1]
		}
	}
	return found, nil
}

// array assembles the array of these disks, or finds it assembled.
func (m Machine) array(ctx context.Context, members []string) (*Volume, error) {
	paths := make([]string, len(members))
	for index, name := range members {
		paths[index] = "/dev/" + name
	}
	device := m.holder(members)
	if device == "" {
		var ended *ExitError
		_, err := m.Runner.Run(ctx, "mdadm", append([]string{"--assemble", arrayDevice}, paths...)...)
		if errors.As(err, &ended) {
			return &Volume{Device: arrayDevice, Members: paths}, nil
		}
		if err != nil {
			return nil, err
		}
		if err := m.settle(ctx); err != nil {
			return nil, err
		}
		if device = m.holder(members); device == "" {
			return &Volume{Device: arrayDevice, Members: paths}, nil
		}
	}
	wanted, _ := strconv.Atoi(m.read("sys/block", device, "md/raid_disks"))
	running := m.read("sys/block", device, "md/array_state")
	return &Volume{Device: "/dev/" + device, Whole: wanted == len(members) && running != "inactive" && running != "clear", Members: paths}, nil
}

// holder is the one array that all these disks belong to, or nothing.
func (m Machine) holder(members []string) string {
	device := ""
	for _, name := range members {
		holders, _ := filepath.Glob(filepath.Join(m.Root, "sys/block", name, "holders/md*"))
		if len(holders) != 1 || (device != "" && device != filepath.Base(holders[0])) {
			return ""
		}
		device = filepath.Base(holders[0])
	}
	return device
}

// readVolume fills in what is on the volume.
func (m Machine) readVolume(ctx context.Context, volume *Volume) error {
	tags, err := m.probe(ctx, volume.Device)
	if err != nil {
		return err
	}
	volume.FileSystem, volume.UUID = tags["TYPE"], tags["UUID"]
	if volume.FileSystem != "xfs" {
		return nil
	}
	mounts, err := m.mounts()
	if err != nil {
		return err
	}
	if target, mounted := mounts[volume.Device]; mounted {
		volume.Identity, err = readIdentity(target)
		return err
	}
	return m.mounted(ctx, volume.Device, "ro,norecovery", func(folder string) error {
		volume.Identity, err = readIdentity(folder)
		return err
	})
}

// mounted mounts the device on a folder of its own for as long as do takes.
func (m Machine) mounted(ctx context.Context, device, options string, do func(folder string) error) (err error) {
	folder, err := os.MkdirTemp(m.State, "mount-")
	if err != nil {
		return err
	}
	defer os.Remove(folder)
	if _, err := m.Runner.Run(ctx, "mount", "-t", "xfs", "-o", options, device, folder); err != nil {
		return err
	}
	defer func() {
		if _, problem := m.Runner.Run(ctx, "umount", folder); problem != nil && err == nil {
			err = problem
		}
	}()
	return do(folder)
}

// readIdentity is nil when the file is missing, or holds no identity.
func readIdentity(folder string) (*Identity, error) { return kept(filepath.Join(folder, identityFile)) }

func kept(path string) (*Identity, error) {
	var identity Identity
	err := statefile.ReadJSON(path, &identity)
	if errors.Is(err, fs.ErrNotExist) || (err == nil && identity.Node == "") {
		return nil, nil
	}
	return &identity, err
}

// tags are what blkid prints of a device.
type tags map[string]string

func (t tags) signature() string {
	for _, name := range []string{"TYPE", "PTTYPE", "USAGE"} {
		if t[name] != "" {
			return t[name]
		}
	}
	return ""
}

// probe reads the device itself, not what udev remembers.
func (m Machine) probe(ctx context.Context, device string) (tags, error) {
	output, err := m.Runner.Run(ctx, "blkid", "-p", "-o", "export", device)
	var ended *ExitError
	if errors.As(err, &ended) {
		switch ended.Status {
		case 2: // nothing found, or no such device; the latter must not pass for a blank disk
			if _, err := os.Stat(device); err != nil {
				return nil, err
			}
			return tags{}, nil
		case 8: // signatures of several kinds
			return tags{"TYPE": "ambivalent"}, nil
		}
	}
	if err != nil {
		return nil, err
	}
	found := tags{}
	for line := range strings.Lines(output) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			found[name] = value
		}
	}
	return found, nil
}

func (m Machine) settle(ctx context.Context) error {
	_, err := m.Runner.Run(ctx, "udevadm", "settle", "--timeout=30")
	return err
}

func (m Machine) read(parts ...string) string {
	content, err := os.ReadFile(filepath.Join(append([]string{m.Root}, parts...)...))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(content))
}

func (m Machine) formattedPath() string { return filepath.Join(m.State, "formatted.json") }

func (m Machine) begunPath() string { return filepath.Join(m.State, "formatting.json") }
