// Package ioproperties knows what the local disks of machine types do, and turns it into the files of the engines. It is
// pure: figures in, text out.
package ioproperties

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Figures are what the whole array does: requests of 4 KiB and bytes, per second.
type Figures struct {
	ReadIOPS       int64 `json:"read_iops"`
	ReadBandwidth  int64 `json:"read_bandwidth"`
	WriteIOPS      int64 `json:"write_iops"`
	WriteBandwidth int64 `json:"write_bandwidth"`
}

// Valid tells whether all four are there.
func (f Figures) Valid() bool {
	return f.ReadIOPS > 0 && f.ReadBandwidth > 0 && f.WriteIOPS > 0 && f.WriteBandwidth > 0
}

// times is n disks that each do f.
func (f Figures) times(n int64) Figures {
	return Figures{
		ReadIOPS: f.ReadIOPS * n, ReadBandwidth: f.ReadBandwidth * n, WriteIOPS: f.WriteIOPS * n, WriteBandwidth: f.WriteBandwidth * n,
	}
}

// preset is one machine type of io-params.json.
type preset struct {
	Provider string   `json:"provider"`
	Type     string   `json:"type"`
	Disks    int      `json:"disks"`
	PerDisk  *Figures `json:"per_disk"`
	// Total is for the whole array: it is never multiplied.
	Total   Figures `json:"total"`
	Warning string  `json:"warning"`
}

// rung is one count of local SSDs that can be added to a machine on GCP.
type rung struct {
	Disks int     `json:"disks"`
	Total Figures `json:"total"`
}

// Presets are the contents of images/machine/data/io-params.json.
type Presets struct {
	Source  string `json:"source"`
	Ceiling struct {
		// Values are random read and write requests per second by machine type; null where nothing is published.
		Values map[string][2]*int64 `json:"values"`
	} `json:"vendor_published_ceiling"`
	Ladder  []rung   `json:"gcp_local_ssd_ladder"`
	Presets []preset `json:"presets"`
}

// Parse reads io-params.json.
func Parse(document []byte) (Presets, error) {
	var presets Presets
	if err := json.Unmarshal(document, &presets); err != nil {
		return Presets{}, fmt.Errorf("io presets: %w", err)
	}
	if len(presets.Presets) == 0 {
		return Presets{}, errors.New("io presets: there are none")
	}
	return presets, nil
}

// ErrUnknown means that there is no preset: the disks must be measured.
var ErrUnknown = errors.New("no io preset")

// replacements are presets whose figures cannot be right, and the type whose figures per disk are taken instead; see their
// warnings in io-params.json: they were measured with requests of 512 bytes.
var replacements = map[string]string{"i4i.12xlarge": "i4i.16xlarge", "i4i.24xlarge": "i4i.16xlarge"}

// sameDisks are types without a published ceiling, and the type that has the same disks and one.
var sameDisks = map[string]string{"i3.metal": "i3.16xlarge"}

// laddered are the families whose local SSDs are counted when the machine is made.
var laddered = []string{"n1-", "n2-", "n2d-", "c2-"}

// Where figures are from.
const (
	FromPreset = "preset"
	FromLadder = "gcp_ladder"
)

// Known is what is known of the array of a machine type.
type Known struct {
	Figures
	// Source is FromPreset, or FromLadder for local SSDs that are counted when the machine is made.
	Source string `json:"source"`
	// PerDiskAs is the type whose figures per disk were taken, because its own cannot be right.
	PerDiskAs string `json:"per_disk_as,omitempty"`
	// Capped are the figures that were measured higher than what the vendor publishes, and are what it publishes.
	Capped []string `json:"capped,omitempty"`
}

// Lookup is what the array of a machine type does that has this many local disks, never more than the vendor publishes.
// ErrUnknown when the type is not known with that many.
func (p Presets) Lookup(provider, machineType string, disks int) (Figures, error) {
	known, err := p.Explain(provider, machineType, disks)
	return known.Figures, err
}

// Explain is as Lookup, and tells where the figures are from.
func (p Presets) Explain(provider, machineType string, disks int) (Known, error) {
	known, err := p.find(provider, machineType, disks)
	if err != nil {
		return Known{}, err
	}
	reads, writes := p.CeilingOf(machineType)
	if reads > 0 && known.ReadIOPS > reads {
		known.ReadIOPS, known.Capped = reads, append(known.Capped, "read_iops")
	}
	if writes > 0 && known.WriteIOPS > writes {
		known.WriteIOPS, known.Capped = writes, append(known.Capped, "write_iops")
	}
	return known, nil
}

func (p Presets) find(provider, machineType string, disks int) (Known, error) {
	if own := p.preset(provider, machineType); own != nil && own.Disks == disks {
		name := replacements[machineType]
		if other := p.preset(provider, name); other != nil && other.PerDisk != nil {
			return Known{Figures: other.PerDisk.times(int64(disks)), Source: FromPreset, PerDiskAs: name}, nil
		}
		return Known{Figures: own.Total, Source: FromPreset}, nil
	}
	if provider == "gcp" {
		for _, family := range laddered {
			if strings.HasPrefix(machineType, family) {
				figures, err := p.onLadder(machineType, disks)
				return Known{Figures: figures, Source: FromLadder}, err
			}
		}
	}
	return Known{}, fmt.Errorf("%w for %s %s with %d disks", ErrUnknown, provider, machineType, disks)
}

func (p Presets) preset(provider, machineType string) *preset {
	for index := range p.Presets {
		if p.Presets[index].Provider == provider && p.Presets[index].Type == machineType {
			return &p.Presets[index]
		}
	}
	return nil
}

func (p Presets) onLadder(machineType string, disks int) (Figures, error) {
	for _, step := range p.Ladder {
		if step.Disks == disks {
			return step.Total, nil
		}
	}
	return Figures{}, fmt.Errorf("%w for %s with %d local SSDs", ErrUnknown, machineType, disks)
}

// CeilingOf is what the vendor publishes for a machine type in requests per second; 0 where nothing is published.
func (p Presets) CeilingOf(machineType string) (reads, writes int64) {
	if other, same := sameDisks[machineType]; same {
		machineType = other
	}
	published := p.Ceiling.Values[machineType]
	if published[0] != nil {
		reads = *published[0]
	}
	if published[1] != nil {
		writes = *published[1]
	}
	return reads, writes
}
