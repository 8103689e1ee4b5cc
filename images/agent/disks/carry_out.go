package disks

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"ringmaster/agent"
	"ringmaster/agent/statefile"
)

// MountOptions are those of the data's file system.
const MountOptions = "noatime,discard,lazytime"

// CarryOut does what was decided and returns the volume, mounted. It may be called again after a crash at any moment. A refusal is an
// *agent.Error with the decision's code.
func (m Machine) CarryOut(ctx context.Context, found Found, wanted Wanted, decision Decision) (Volume, error) {
	switch decision.Action {
	case Mount:
		if err := m.noteFormatted(wanted.Identity); err != nil {
			return Volume{}, err
		}
		return *found.Volume, m.mount(ctx, *found.Volume)
	case Format:
		volume, err := m.format(ctx, found, wanted.Identity, decision.Anew)
		if err != nil {
			return Volume{}, err
		}
		return volume, m.mount(ctx, volume)
	}
	return Volume{}, agent.Errorf(decision.Code, "%s", decision.Reason)
}

// format notes first what it is about to do: if it does not end, the next call knows that the leftovers are its own.
func (m Machine) format(ctx context.Context, found Found, identity Identity, anew bool) (Volume, error) {
	if err := statefile.WriteJSON(m.begunPath(), identity); err != nil {
		return Volume{}, err
	}
	if anew {
		if err := m.wipe(ctx, found); err != nil {
			return Volume{}, err
		}
	}
	paths := make([]string, len(found.Disks))
	for index, disk := range found.Disks {
		paths[index] = disk.Path
	}
	device := paths[0]
	if len(paths) > 1 {
		device = arrayDevice
		arguments := []string{
			"--create", arrayDevice, "--run", "--level=0", "--chunk=1024", "--metadata=1.2", "--name=" + label, "--homehost=any",
			"--raid-devices=" + strconv.Itoa(len(paths)),
		}
		if _, err := m.Runner.Run(ctx, "mdadm", append(arguments, paths...)...); err != nil {
			return Volume{}, err
		}
		if err := m.settle(ctx); err != nil {
			return Volume{}, err
		}
	}
	// -K: discarding terabytes takes minutes, and these disks are blank. No -f: what holds a file system is not made anew.
	if _, err := m.Runner.Run(ctx, "mkfs.xfs", "-q", "-K", "-L", label, device); err != nil {
		return Volume{}, err
	}
	if err := m.settle(ctx); err != nil {
		return Volume{}, err
	}
	write := func(folder string) error { return statefile.WriteJSON(filepath.Join(folder, identityFile), identity) }
	if err := m.mounted(ctx, device, MountOptions, write); err != nil {
		return Volume{}, err
	}
	tags, err := m.probe(ctx, device)
	if err != nil {
		return Volume{}, err
	}
	if err := m.noteFormatted(identity); err != nil {
		return Volume{}, err
	}
	return Volume{Device: device, Whole: true, Members: paths, FileSystem: "xfs", UUID: tags["UUID"], Identity: &identity}, nil
}

// noteFormatted: from now on blank disks are lost data, whatever the machine was told when it was made.
func (m Machine) noteFormatted(identity Identity) error {
	if err := statefile.WriteJSON(m.formattedPath(), identity); err != nil {
		return err
	}
	if err := os.Remove(m.begunPath()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (m Machine) wipe(ctx context.Context, found Found) error {
	if found.Volume != nil && len(found.Disks) > 1 {
		if found.Volume.Whole {
			if _, err := m.Runner.Run(ctx, "wipefs", "--all", found.Volume.Device); err != nil {
				return err
			}
		}
		if _, err := m.Runner.Run(ctx, "mdadm", "--stop", found.Volume.Device); err != nil {
			return err
		}
	}
	for _, disk := range found.Disks {
		if _, err := m.Runner.Run(ctx, "wipefs", "--all", disk.Path); err != nil {
			return err
		}
	}
	return m.settle(ctx)
}

// mount does nothing when the volume is mounted where it belongs.
func (m Machine) mount(ctx context.Context, volume Volume) error {
	mounts, err := m.mounts()
	if err != nil {
		return err
	}
	device, err := filepath.EvalSymlinks(volume.Device)
	if err != nil {
		device = volume.Device
	}
	switch target, mounted := mounts[device]; {
	case mounted && target == m.Mountpoint:
		return nil
	case mounted:
		return fmt.Errorf("%s is mounted at %s", volume.Device, target)
	}
	if err := os.MkdirAll(m.Mountpoint, 0o755); err != nil {
		return err
	}
	// By UUID: the device may have another name when the machine starts next time.
	_, err = m.Runner.Run(ctx, "mount", "-t", "xfs", "-o", MountOptions, "UUID="+volume.UUID, m.Mountpoint)
	return err
}
