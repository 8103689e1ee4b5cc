package disks

import (
	"slices"
	"testing"
)

var (
	ours   = Identity{Cluster: "c1", Node: "n1", Generation: 1}
	theirs = Identity{Cluster: "c1", Node: "n2", Generation: 1}
	before = Identity{Cluster: "c1", Node: "n1", Generation: 0}
)

func disksWith(signatures ...string) []Disk {
	var all []Disk
	for index, signature := range signatures {
		all = append(all, Disk{Path: "/dev/nvme" + string(rune('1'+index)) + "n1", Signature: signature})
	}
	return all
}

func array(whole bool, identity *Identity, members ...string) *Volume {
	return &Volume{Device: "/dev/md/ringmaster", Whole: whole, Members: members, FileSystem: "xfs", UUID: "u", Identity: identity}
}

const raid = "linux_raid_member"

func TestTheDecisionIsOneOfFour(t *testing.T) {
	both := []string{"/dev/nvme1n1", "/dev/nvme2n1"}
	for _, c := range []struct {
		name  string
		found Found
		// actions by membership: new, replacing, member
		actions [3]Action
		code    string
	}{
		{"our array: a reboot", Found{Disks: disksWith(raid, raid), Volume: array(true, &ours, both...)}, [3]Action{Mount, Mount, Mount}, ""},
		{"our single disk: a reboot", Found{Disks: disksWith("xfs"), Volume: array(true, &ours, both[0])}, [3]Action{Mount, Mount, Mount}, ""},
		{"all blank", Found{Disks: disksWith("", "")}, [3]Action{Format, Format, Refuse}, LocalDataLost},
		{"one blank disk", Found{Disks: disksWith("")}, [3]Action{Format, Format, Refuse}, LocalDataLost},
		{"blank again after an unfinished format", Found{Disks: disksWith("", ""), Begun: &ours}, [3]Action{Format, Format, Refuse}, LocalDataLost},
		{"blank after they were formatted here", Found{Disks: disksWith("", ""), Formatted: &ours}, [3]Action{Refuse, Refuse, Refuse}, LocalDataLost},
		{"blank after they were formatted for the node before", Found{Disks: disksWith(""), Formatted: &before}, [3]Action{Format, Format, Refuse}, LocalDataLost},
		{"our array, formatted here", Found{Disks: disksWith(raid, raid), Volume: array(true, &ours, both...), Formatted: &ours}, [3]Action{Mount, Mount, Mount}, ""},
		{"no disks", Found{}, [3]Action{Refuse, Refuse, Refuse}, NoLocalDisks},
		{"another node's array", Found{Disks: disksWith(raid, raid), Volume: array(true, &theirs, both...)}, [3]Action{Refuse, Refuse, Refuse}, ForeignData},
		{"another generation", Found{Disks: disksWith(raid, raid), Volume: array(true, &before, both...)}, [3]Action{Refuse, Refuse, Refuse}, ForeignData},
		{"another node's array, begun by us", Found{Disks: disksWith(raid, raid), Volume: array(true, &theirs, both...), Begun: &ours}, [3]Action{Refuse, Refuse, Refuse}, ForeignData},
		{"a file system of nobody", Found{Disks: disksWith("xfs"), Volume: array(true, nil, both[0])}, [3]Action{Refuse, Refuse, Refuse}, ForeignData},
		{"a foreign file system", Found{Disks: disksWith("ext4", "")}, [3]Action{Refuse, Refuse, Refuse}, ForeignData},
		{"a partition table", Found{Disks: disksWith("gpt")}, [3]Action{Refuse, Refuse, Refuse}, ForeignData},
		{"a disk is missing", Found{Disks: disksWith(raid), Volume: array(false, nil, both[0])}, [3]Action{Refuse, Refuse, Refuse}, ArrayIncomplete},
		{"one disk was exchanged", Found{Disks: disksWith(raid, ""), Volume: array(false, nil, both[0])}, [3]Action{Refuse, Refuse, Refuse}, ArrayIncomplete},
		{"our array and a new disk", Found{Disks: disksWith(raid, raid, ""), Volume: array(true, &ours, both...)}, [3]Action{Refuse, Refuse, Refuse}, ArrayIncomplete},
		{"our unfinished format", Found{Disks: disksWith(raid, raid), Volume: array(true, nil, both...), Begun: &ours}, [3]Action{Format, Format, Refuse}, ForeignData},
		{"an unfinished format of another", Found{Disks: disksWith(raid, raid), Volume: array(true, nil, both...), Begun: &theirs}, [3]Action{Refuse, Refuse, Refuse}, ForeignData},
	} {
		for index, membership := range []Membership{New, Replacing, Member} {
			decision := Decide(c.found, Wanted{Identity: ours, Membership: membership})
			if decision.Action != c.actions[index] || decision.Reason == "" {
				t.Errorf("%s, %s: %+v", c.name, membership, decision)
			}
			if (decision.Action == Refuse) != (decision.Code != "") || (decision.Action == Refuse && decision.Code != c.code) {
				t.Errorf("%s, %s: code %q, wanted %q", c.name, membership, decision.Code, c.code)
			}
		}
	}
}

// Whatever is found: a member's disks are never formatted, and neither are disks that hold anything we did not begin.
func TestNothingIsFormattedThatCouldHoldData(t *testing.T) {
	signatures := []string{"", raid, "xfs", "ext4"}
	volumes := []*Volume{nil}
	for _, whole := range []bool{true, false} {
		for _, identity := range []*Identity{nil, &ours, &theirs, &before} {
			for _, members := range [][]string{{"/dev/nvme1n1"}, {"/dev/nvme1n1", "/dev/nvme2n1"}} {
				volumes = append(volumes, array(whole, identity, members...))
			}
		}
	}
	for _, first := range signatures {
		for _, second := range signatures {
			for _, volume := range volumes {
				for _, begun := range []*Identity{nil, &ours, &theirs} {
					for _, membership := range []Membership{New, Replacing, Member, "", "unknown"} {
						found := Found{Disks: disksWith(first, second), Volume: volume, Begun: begun}
						decision := Decide(found, Wanted{Identity: ours, Membership: membership})
						if decision.Action != Format {
							continue
						}
						blank := first == "" && second == ""
						resumed := begun != nil && *begun == ours && (volume == nil || volume.Identity == nil)
						if !slices.Contains([]Membership{New, Replacing}, membership) || !(blank || resumed) {
							t.Errorf("%+v as %q: %+v", found, membership, decision)
						}
					}
				}
			}
		}
	}
}
