package machinemetrics_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ringmaster/agent"
	"ringmaster/agent/machinemetrics"
	"ringmaster/agent/metrics"
)

func served(t *testing.T, source *machinemetrics.Source) string {
	t.Helper()
	vocabulary, err := metrics.ReadVocabulary()
	if err != nil {
		t.Fatal(err)
	}
	service := metrics.Service{Vocabulary: vocabulary, Within: time.Minute, Log: slog.New(slog.DiscardHandler), Sources: []metrics.Source{
		{Name: "machine", Collect: func(ctx context.Context, page *metrics.Page) error {
			err := source.Collect(ctx, page)
			if len(page.Unknown()) > 0 {
				t.Errorf("not in the vocabulary: %v", page.Unknown())
			}
			return errors.Join(err, machinemetrics.Process(page))
		}},
	}}
	recorder := httptest.NewRecorder()
	service.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	return recorder.Body.String()
}

// recorded is a machine of four CPUs whose data are on an array of two disks.
func recorded(t *testing.T, data string) string {
	t.Helper()
	root := t.TempDir()
	for path, content := range map[string]string{
		"proc/stat": "cpu  10 0 10 100 0 0 0 0 0 0\n" +
			"cpu0 100 0 200 300 0 0 400 0 0 0\ncpu1 500 0 0 0 0 0 0 0 0 0\n" +
			"intr 0\nctxt 0\nbtime 1700000000\nprocesses 1\nprocs_running 1\nprocs_blocked 0\n",
		"proc/loadavg": "0.50 0.40 0.30 1/100 1234\n",
		"proc/meminfo": "MemTotal:       1000 kB\nMemFree:         300 kB\nMemAvailable:    600 kB\nSwapTotal:       200 kB\nSwapFree:        150 kB\n",
		"proc/diskstats": "   9 0 md0 5 0 16 20 3 0 8 10 0 40 30 0 0 0 0 0 0\n 259 0 nvme0n1 5 0 16 20 3 0 8 10 0 40 30 0 0 0 0 0 0\n" +
			" 259 1 nvme0n1p1 5 0 16 20 3 0 8 10 0 40 30 0 0 0 0 0 0\n   7 0 loop0 5 0 16 20 3 0 8 10 0 40 30 0 0 0 0 0 0\n",
		"proc/net/dev": "Inter-|   Receive                                                |  Transmit\n" +
			" face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n" +
			"    lo: 9 1 0 0 0 0 0 0 9 1 0 0 0 0 0 0\n  eth0: 1000 10 1 2 0 0 0 0 2000 20 3 4 0 0 0 0\n",
		"sys/block/md0/size": "1", "sys/block/nvme0n1/size": "1", "sys/block/loop0/size": "1",
	} {
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestNoCPUOfASharedMachineIsSaidToTakeTheInterrupts(t *testing.T) {
	data := t.TempDir()
	source := &machinemetrics.Source{
		Root: recorded(t, data), Data: data, EnginePID: func(context.Context) int { return 0 },
		Tuning: func(context.Context) (agent.TuningReport, error) {
			return agent.TuningReport{Environment: agent.SharedMachine, Pins: &agent.TuningPins{IRQ: "0"}}, nil
		},
	}
	page := served(t, source)
	if !strings.Contains(page, `ringmaster_node_cpu_seconds_total{cpu="0",mode="idle",irq="false"} 3`) {
		t.Errorf("CPU 0 is not told, or said to take the interrupts:\n%s", page)
	}
}

func TestAMachineIsTold(t *testing.T) {
	data := t.TempDir()
	report := agent.TuningReport{
		Pins:   &agent.TuningPins{IRQ: "0"},
		IO:     &agent.TuningIO{ReadIOPS: 1000, ReadBandwidth: 2000, WriteIOPS: 3000, WriteBandwidth: 4000},
		Checks: []agent.TuningCheck{{Status: agent.Pass}, {Status: agent.Pass}, {Status: agent.Fail}},
	}
	asked := 0
	source := &machinemetrics.Source{
		Root: recorded(t, data), Data: data, EnginePID: func(context.Context) int { return 0 },
		Tuning: func(context.Context) (agent.TuningReport, error) { asked++; return report, nil },
	}
	served(t, source)
	page := served(t, source)
	for _, line := range []string{
		`ringmaster_node_cpu_seconds_total{cpu="0",mode="softirq",irq="true"} 4`,
		`ringmaster_node_cpu_seconds_total{cpu="0",mode="idle",irq="true"} 3`,
		`ringmaster_node_cpu_seconds_total{cpu="1",mode="user",irq="false"} 5`,
		`ringmaster_node_load1 0.5`,
		`ringmaster_node_memory_total_bytes 1.024e+06`,
		`ringmaster_node_memory_available_bytes 614400`,
		`ringmaster_node_swap_used_bytes 51200`,
		`ringmaster_node_disk_read_bytes_total{device="nvme0n1"} 8192`,
		`ringmaster_node_disk_written_bytes_total{device="md0"} 4096`,
		`ringmaster_node_disk_busy_seconds_total{device="md0"} 0.04`,
		`ringmaster_node_network_receive_bytes_total{device="eth0"} 1000`,
		`ringmaster_node_network_drops_total{device="eth0",direction="out"} 4`,
		`ringmaster_node_io_iops_limit{direction="write"} 3000`,
		`ringmaster_node_io_bandwidth_limit_bytes{direction="read"} 2000`,
		`ringmaster_node_tuning_checks{result="pass"} 2`,
		`ringmaster_node_tuning_checks{result="fail"} 1`,
		// It is not in the recording, and that is told.
		`ringmaster_agent_scrape_missing{source="machine",metric="ringmaster_node_tcp_retransmits_total"} 1`,
	} {
		if !strings.Contains(page, line+"\n") {
			t.Errorf("%s is not in\n%s", line, page)
		}
	}
	for _, absent := range []string{"loop0", "nvme0n1p1", `device="lo"`} {
		if strings.Contains(page, absent) {
			t.Errorf("%s is in\n%s", absent, page)
		}
	}
	if asked != 1 {
		t.Errorf("the tuning report was made %d times", asked)
	}
}

// On the machine at hand nothing may be missing, of this process as if it were the engine's.
func TestThisMachineIsTold(t *testing.T) {
	page := served(t, &machinemetrics.Source{
		Root: "/", Data: t.TempDir(), EnginePID: func(context.Context) int { return os.Getpid() },
		Tuning: func(context.Context) (agent.TuningReport, error) { return agent.TuningReport{}, nil },
	})
	if strings.Contains(page, "ringmaster_agent_scrape_missing{") {
		t.Errorf("%s", page)
	}
	for _, name := range []string{
		"cpu_seconds_total{", "memory_available_bytes ", "engine_cpu_seconds_total{", "engine_resident_bytes ", "engine_open_files ",
		"network_receive_bytes_total{", "tcp_retransmits_total ", "filesystem_size_bytes ", "filesystem_free_bytes ",
	} {
		if !strings.Contains(page, "\nringmaster_node_"+name) {
			t.Errorf("no %s in\n%s", name, page)
		}
	}
	if !strings.Contains(page, "\nringmaster_agent_resident_bytes ") {
		t.Errorf("%s", page)
	}
}
