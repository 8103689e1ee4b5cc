// Package disks decides what to do with a node's local disks, and does it. The decision is pure; what it needs is looked up
// and carried out with mdadm, mkfs.xfs, mount, blkid, wipefs and udevadm.
//
// The worst that can happen to a member of a ring is that its disks are formatted silently. So formatting needs all of: the
// control plane says that the node is new or replaces another, and nothing at all is on the disks.
package disks

import (
	"fmt"
	"strings"
)

// Identity is written to the array: whose data this is.
type Identity struct {
	Cluster string `json:"cluster"`
	Node    string `json:"node"`
	// Generation counts the machines that the node has had.
	Generation int `json:"generation"`
}

func (i Identity) String() string {
	return fmt.Sprintf("node %s of cluster %s, generation %d", i.Node, i.Cluster, i.Generation)
}

// Membership is what the control plane says of the node.
type Membership string

// The memberships.
const (
	New       Membership = "new"
	Replacing Membership = "replacing"
	Member    Membership = "member"
)

// Disk is one local disk.
type Disk struct {
	// Path is the device, for example /dev/nvme1n1.
	Path  string `json:"path"`
	Model string `json:"model"`
	Bytes int64  `json:"bytes"`
	// Signature is what blkid finds on it: "linux_raid_member", "xfs", "gpt" and so on; empty when nothing does.
	Signature string `json:"signature,omitempty"`
}

// Volume is what could be mounted: the array that was assembled, or the single disk.
type Volume struct {
	Device string `json:"device"`
	// Whole: all members of the array are there.
	Whole bool `json:"whole"`
	// Members are the paths of the disks it is made of.
	Members    []string `json:"members"`
	FileSystem string   `json:"file_system,omitempty"`
	UUID       string   `json:"uuid,omitempty"`
	// Identity is nil when there is no file that tells.
	Identity *Identity `json:"identity,omitempty"`
}

// Found is what the machine has.
type Found struct {
	Disks  []Disk  `json:"disks"`
	Volume *Volume `json:"volume,omitempty"`
	// Begun is the identity for which an earlier call began to format and did not end. It is kept on the machine's root disk.
	Begun *Identity `json:"begun,omitempty"`
	// Formatted is the identity for which this machine has formatted its disks. Kept there too: what the machine was told when it
	// was made still says "new" when it comes back with blank disks after it was stopped.
	Formatted *Identity `json:"formatted,omitempty"`
}

// Wanted is what the control plane says.
type Wanted struct {
	Identity   Identity
	Membership Membership
}

// Action is what to do.
type Action string

// The actions.
const (
	// Mount: this is a reboot.
	Mount Action = "mount"
	// Format all disks and mount: this is a first boot.
	Format Action = "format"
	// Refuse to touch anything and to start the engine.
	Refuse Action = "refuse"
)

// Decision is what to do and why. Code is set when the action is Refuse.
type Decision struct {
	Action Action `json:"action"`
	Code   string `json:"code,omitempty"`
	Reason string `json:"reason"`
	// Anew: the disks hold what an earlier call began; it is wiped first.
	Anew bool `json:"anew,omitempty"`
}

// The codes of refusals.
const (
	NoLocalDisks    = "no-local-disks"
	LocalDataLost   = "local-data-lost"
	ArrayIncomplete = "array-incomplete"
	ForeignData     = "foreign-data"
)

// Decide tells what to do with the disks.
func Decide(found Found, wanted Wanted) Decision {
	if len(found.Disks) == 0 {
		return refuse(NoLocalDisks, "The machine has no local disk of a model that is used for data.")
	}
	var signed []string
	for _, disk := range found.Disks {
		if disk.Signature != "" {
			signed = append(signed, fmt.Sprintf("%s: %s", disk.Path, disk.Signature))
		}
	}
	again := found.Formatted != nil && *found.Formatted == wanted.Identity
	fresh := (wanted.Membership == New || wanted.Membership == Replacing) && !again
	volume := found.Volume
	if volume != nil && volume.Whole && len(volume.Members) == len(found.Disks) && volume.Identity != nil {
		if *volume.Identity == wanted.Identity {
			return Decision{Action: Mount, Reason: fmt.Sprintf("%s holds the data of %s.", volume.Device, wanted.Identity)}
		}
		return refuse(ForeignData, fmt.Sprintf("%s holds the data of %s; this is %s.", volume.Device, *volume.Identity, wanted.Identity))
	}
	if len(signed) == 0 {
		if fresh {
			return Decision{Action: Format, Reason: fmt.Sprintf("All disks are blank, and the node is %s.", wanted.Membership)}
		}
		return refuse(LocalDataLost, "All disks are blank, but the node has had data. It is gone; replace the node.")
	}
	if fresh && found.Begun != nil && *found.Begun == wanted.Identity && (volume == nil || volume.Identity == nil) {
		return Decision{Action: Format, Anew: true, Reason: "An earlier start began to format the disks and did not end."}
	}
	if volume != nil && (!volume.Whole || len(volume.Members) != len(found.Disks)) {
		return refuse(ArrayIncomplete, fmt.Sprintf("%s is not made of all %d disks (%s).", volume.Device, len(found.Disks), strings.Join(signed, ", ")))
	}
	return refuse(ForeignData, fmt.Sprintf("The disks hold something that does not say whose it is (%s).", strings.Join(signed, ", ")))
}

func refuse(code, reason string) Decision {
	return Decision{Action: Refuse, Code: code, Reason: reason}
}
