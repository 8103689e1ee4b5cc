package main

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestWhatIsKnownOfAMachineTypesDisksIsPrinted(t *testing.T) {
	presets := "../../../machine/data/io-params.json"
	for _, c := range []struct {
		provider, machineType, disks, wanted string
		err                                  error
	}{
		{"aws", "i3.8xlarge", "4", `"source": "preset"`, nil},
		{"aws", "i4i.24xlarge", "6", `"per_disk_as": "i4i.16xlarge"`, nil},
		{"gcp", "n2-highmem-16", "8", `"source": "gcp_ladder"`, nil},
		{"aws", "i8g.48xlarge", "12", `"code": "io-unknown"`, errTold},
		{"aws", "", "1", "", errUsage},
	} {
		var out bytes.Buffer
		err := ioFigures([]string{"--presets", presets, "--provider", c.provider, "--type", c.machineType, "--disks", c.disks}, &out, io.Discard)
		if !errors.Is(err, c.err) || !strings.Contains(out.String(), c.wanted) {
			t.Errorf("%s: %s %v", c.machineType, out.String(), err)
		}
	}
	var out bytes.Buffer
	if err := ioFigures([]string{"--presets", "nowhere", "--type", "i3.large"}, &out, io.Discard); !errors.Is(err, errTold) ||
		!strings.Contains(out.String(), "presets-unreadable") {
		t.Error(out.String(), err)
	}
}
