package main

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestPinPrintsOneLineOfJSON(t *testing.T) {
	for _, asked := range []struct {
		arguments, printed string
		refused            bool
	}{
		{
			"--topology 1x16x2 --siblings split",
			`{"irq":"0,16","shards":"1-15,17-31","n_shards":30,"irq_mask":"0x00010001","shard_mask":"0xfffefffe"}`, false,
		},
		{
			"--topology 1x8x2 --siblings adjacent",
			`{"irq":"0-1","shards":"2-15","n_shards":14,"irq_mask":"0x00000003","shard_mask":"0x0000fffc"}`, false,
		},
		{
			"--topology 1x16x2 --ratio 8",
			`{"irq":"0-1,16-17","shards":"2-15,18-31","n_shards":28,"irq_mask":"0x00030003","shard_mask":"0xfffcfffc"}`, false,
		},
		{
			"--topology 2x16x2 --allowed 0-16,32-47",
			`{"error":"NUMA nodes differ: give an explicit mask of CPUs with as many cores and threads on each node"}`, true,
		},
		{"--topology 1x16x2 --ratio 4", `{"error":"the ratio of cores to an interrupt core is at least 5, not 4"}`, true},
	} {
		var out bytes.Buffer
		err := command(t.Context(), append([]string{"pin"}, strings.Fields(asked.arguments)...), &out, io.Discard)
		if errors.Is(err, errTold) != asked.refused || (err != nil && !asked.refused) {
			t.Errorf("%s: %v", asked.arguments, err)
		}
		if strings.TrimSuffix(out.String(), "\n") != asked.printed {
			t.Errorf("%s prints %s", asked.arguments, out.String())
		}
	}
}

func TestPinTakesNoUnknownOption(t *testing.T) {
	if err := command(t.Context(), []string{"pin", "--topolgy", "1x1x1"}, io.Discard, io.Discard); !errors.Is(err, errUsage) {
		t.Error(err)
	}
}
