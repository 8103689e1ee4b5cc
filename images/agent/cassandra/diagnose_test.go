package cassandra

import (
	"compress/gzip"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"ringmaster/agent"
)

func logged(number int, level, text string) string {
	return fmt.Sprintf("%-5s [main] 2026-11-22 02:00:%02d,000 Source - %s\n", level, number, text)
}

// texts are the lines of all pages of a log, from the last page to the first.
func pages(t *testing.T, path string, wanted agent.DiagnoseParameters) [][]string {
	t.Helper()
	if err := wanted.Check(); err != nil {
		t.Fatal(err)
	}
	var all [][]string
	for {
		page, err := logPage(path, wanted)
		if err != nil {
			t.Fatal(err)
		}
		var texts []string
		for _, line := range page.Lines {
			texts = append(texts, line.Text)
		}
		if all = append(all, texts); page.Before == "" || len(all) > 20 {
			return all
		}
		wanted.Before = page.Before
	}
}

func TestALogIsReadBackwardsPageByPageThroughWhatWasRolledOff(t *testing.T) {
	place := folders{root: t.TempDir()}
	if err := place.make(); err != nil {
		t.Fatal(err)
	}
	pack := func(path, text string) {
		file, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		packed := gzip.NewWriter(file)
		_, _ = packed.Write([]byte(text))
		if err := packed.Close(); err != nil {
			t.Fatal(err)
		}
		_ = file.Close()
	}
	pack(place.systemLog()+".2026-11-22.2.gz", logged(3, "INFO", "three"))
	pack(place.systemLog()+".2026-11-22.10.gz", logged(4, "WARN", "four"))
	pack(place.systemLog()+".2026-11-21.0.gz", logged(1, "INFO", "one")+logged(2, "ERROR", "two\n\tat a.B(C.java:1)\n\tat d"))
	write(t, place.systemLog(), logged(5, "INFO", "five")+logged(6, "ERROR", "six\nmore of it")+logged(7, "INFO", "seven with password='hunter2', and more"))
	for _, c := range []struct {
		wanted agent.DiagnoseParameters
		told   string
	}{
		{agent.DiagnoseParameters{}, "[[one two\n\tat a.B(C.java:1)\n\tat d three four five six\nmore of it seven with password=<hidden>, and more]]"},
		{agent.DiagnoseParameters{Limit: 2}, "[[six\nmore of it seven with password=<hidden>, and more] [four five] [two\n\tat a.B(C.java:1)\n\tat d three] [one]]"},
		{agent.DiagnoseParameters{Level: "WARN", Limit: 2}, "[[four six\nmore of it] [two\n\tat a.B(C.java:1)\n\tat d]]"},
		{agent.DiagnoseParameters{Search: "MORE OF"}, "[[six\nmore of it]]"},
		{agent.DiagnoseParameters{Search: "nowhere"}, "[[]]"},
	} {
		if told := fmt.Sprint(pages(t, place.systemLog(), c.wanted)); told != c.told {
			t.Errorf("%+v: %q, not %q", c.wanted, told, c.told)
		}
	}
	// The file is rolled off while somebody reads it: the next page is found in what it became.
	page, err := logPage(place.systemLog(), agent.DiagnoseParameters{Limit: 2})
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(place.systemLog())
	if err != nil {
		t.Fatal(err)
	}
	pack(place.systemLog()+".2026-11-22.11.gz", string(content))
	write(t, place.systemLog(), logged(8, "INFO", "eight"))
	next, err := logPage(place.systemLog(), agent.DiagnoseParameters{Limit: 2, Before: page.Before})
	if err != nil || len(next.Lines) != 2 || next.Lines[1].Text != "five" {
		t.Errorf("%+v, %v", next, err)
	}
	if _, err := logPage(place.systemLog(), agent.DiagnoseParameters{Limit: 2, Before: "nonsense"}); agent.AsError(err).Code != "invalid-parameters" {
		t.Errorf("%v", err)
	}
}

func TestAnAnswerAboutALogHasALargestSize(t *testing.T) {
	place := folders{root: t.TempDir()}
	if err := place.make(); err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for number := range 200 {
		text.WriteString(logged(number%60, "INFO", strings.Repeat("é", 1<<20>>8)))
		text.WriteString(strings.Repeat("x", 2*mostEntryBytes) + "\n")
	}
	write(t, place.systemLog(), text.String())
	page, err := logPage(place.systemLog(), agent.DiagnoseParameters{Limit: agent.MostRows})
	size := 0
	for _, line := range page.Lines {
		size += len(line.Text)
	}
	if err != nil || size > mostLogBytes || size < mostLogBytes/2 || page.Before == "" {
		t.Errorf("%d bytes, %q, %v", size, page.Before, err)
	}
}

func TestSlowQueriesAreReadFromTheirLog(t *testing.T) {
	text := "DEBUG [ScheduledTasks:1] 2026-11-22 02:00:01,000 MonitoringTask - 2 operations were slow in the last 4996 msecs:\n" +
		"<SELECT * FROM shop.orders WHERE what = 'a>b, time 1 msec' LIMIT 5000>, time 801 msec - slow timeout 500 msec/cross-node\n" +
		"<SELECT * FROM shop.orders WHERE id = 7>, was slow 3 times: avg/min/max 600/501/799 msec - slow timeout 500 msec\n"
	found, err := readSlow(strings.NewReader(text))
	want := []slowStatement{
		{"2026-11-22 02:00:01,000", "SELECT * FROM shop.orders WHERE what = 'a>b, time 1 msec' LIMIT 5000", 1, 801, 801, true},
		{"2026-11-22 02:00:01,000", "SELECT * FROM shop.orders WHERE id = 7", 3, 600, 799, false},
	}
	if err != nil || !slices.Equal(found, want) {
		t.Errorf("%+v, %v", found, err)
	}
}

func TestItIsToldWhetherAReadFilters(t *testing.T) {
	keys := keysOf{"shop.orders": {partition: []string{"shop", "day"}, clustering: []string{"at"}, indexed: []string{"status"}}}
	for where, filters := range map[string]any{
		"":                                         false,
		" WHERE shop = 1 AND day = '2026-11-22'":   false,
		" WHERE shop = 1 AND day = 2 AND at > 3":   false,
		" WHERE status = 'x'":                      false,
		" WHERE token(shop, day) > 17":             false,
		" WHERE shop = 1":                          true,
		" WHERE at > 3 LIMIT 5000":                 true,
		" WHERE amount > 3":                        true,
		" WHERE shop = 1 AND day = 2 AND amount<3": true,
		" WHERE status = 'x' AND amount = 3":       true,
		" WHERE status = 'AND amount = 3'":         false,
		" WHERE tags CONTAINS 'a'":                 true,
	} {
		if _, _, told := keys.judge("SELECT * FROM shop.orders" + where); told != filters {
			t.Errorf("%q: %v", where, told)
		}
	}
	if _, _, told := keys.judge("SELECT * FROM shop.gone WHERE id = 1"); told != nil {
		t.Errorf("a table that is not there: %v", told)
	}
}

func TestSamplesBecomeAFlame(t *testing.T) {
	sample := func(thread string, stack ...string) string {
		return "jdk.ExecutionSample {\n  startTime = 02:00:00.000\n  sampledThread = \"" + thread + "\" (javaThreadId = 4)\n  state = \"STATE_RUNNABLE\"\n" +
			"  stackTrace = [\n    " + strings.Join(stack, "\n    ") + "\n    ...\n  ]\n}\n\n"
	}
	flame, err := readSamples(strings.NewReader(
		sample("ReadStage-1", "a.B.inner(int, String) line: 3", "a.B.outer() line: 1") + sample("ReadStage-12", "a.B.outer() line: 2") +
			sample("main", "a.B.inner(int, String) line: 3")))
	told := fmt.Sprint(flame.Root)
	if err != nil || flame.Samples != 3 || told != "{all 3 [{ReadStage 2 [{a.B.outer 2 [{a.B.inner 1 []}]}]} {main 1 [{a.B.inner 1 []}]}]}" {
		t.Errorf("%d samples: %s, %v", flame.Samples, told, err)
	}
}

func TestWhatNobodyCanBeAskedIsRefused(t *testing.T) {
	for _, parameters := range []agent.DiagnoseParameters{
		{Question: agent.AskRing}, {Seconds: 61}, {Seconds: -1}, {Limit: 1001}, {Level: "LOUD"}, {Keyspace: "a;b"}, {Table: "t"},
		{Search: strings.Repeat("x", 201)},
	} {
		if err := parameters.Check(); agent.AsError(err).Code != "invalid-parameters" {
			t.Errorf("%+v: %v", parameters, err)
		}
	}
}
