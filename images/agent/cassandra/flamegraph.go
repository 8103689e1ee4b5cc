package cassandra

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"ringmaster/agent"
)

// recordingName is that of the flight recording we make; others may run beside it.
const recordingName = "ringmaster"

// recorded is all that is recorded: options of the command itself have no way to say it.
const recorded = `<?xml version="1.0" encoding="UTF-8"?>
<configuration version="2.0">
  <event name="jdk.ExecutionSample"><setting name="enabled">true</setting><setting name="period">10 ms</setting></event>
</configuration>
`

// askFlameGraph samples with the JVM's own flight recorder, which is in every JDK, what the engine's threads do, every 10 ms.
func (e *Engine) askFlameGraph(ctx context.Context, parameters agent.DiagnoseParameters, report agent.Report) (agent.Answer, error) {
	if err := e.running(); err != nil {
		return agent.Answer{}, err
	}
	with, err := findJava()
	if err != nil {
		return agent.Answer{}, err
	}
	folder := filepath.Join(e.place.root, "tmp")
	// One at a time, as its name says: what an earlier agent left is in the way.
	recording := filepath.Join(folder, recordingName+".jfr")
	pid := strconv.Itoa(e.supervisor.Condition().Process.PID)
	order := func(ctx context.Context, words ...string) error {
		said, err := exec.CommandContext(ctx, with.program("jcmd"), append([]string{pid}, words...)...).CombinedOutput()
		// jcmd ends well when the JVM refuses.
		if text := string(said); err != nil || strings.Contains(text, "Could not") || strings.Contains(text, "Exception") {
			return agent.Errorf("profiler-refused", "The engine's JVM does not record what it does: %s", shortened(strings.TrimSpace(text)))
		}
		return nil
	}
	_ = order(ctx, "JFR.stop", "name="+recordingName)
	chosen := filepath.Join(folder, recordingName+".jfc")
	if err := os.WriteFile(chosen, []byte(recorded), 0o600); err != nil {
		return agent.Answer{}, err
	}
	if err := order(ctx, "JFR.start", "name="+recordingName, "settings="+chosen); err != nil {
		return agent.Answer{}, err
	}
	defer func() {
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		_ = order(within, "JFR.stop", "name="+recordingName)
		_ = os.Remove(recording)
		_ = os.Remove(filepath.Join(folder, recordingName+".jfc"))
	}()
	for second := range parameters.Seconds {
		report(0.9*float64(second)/float64(parameters.Seconds), fmt.Sprintf("Sampling: %d of %d seconds", second, parameters.Seconds))
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return agent.Answer{}, context.Cause(ctx)
		}
	}
	report(0.9, "Reading the samples")
	if err := order(ctx, "JFR.stop", "name="+recordingName, "filename="+recording); err != nil {
		return agent.Answer{}, err
	}
	const deepest = "128"
	command := exec.CommandContext(ctx, "nice", "-n", "19", with.program("jfr"), "print", "--events", "jdk.ExecutionSample", "--stack-depth", deepest, recording)
	output, err := command.StdoutPipe()
	if err != nil {
		return agent.Answer{}, err
	}
	if err := command.Start(); err != nil {
		return agent.Answer{}, err
	}
	flame, err := readSamples(output)
	if waited := command.Wait(); err == nil {
		err = waited
	}
	if err != nil {
		return agent.Answer{}, err
	}
	return agent.Answer{
		Facts: []agent.AnswerFact{fact("Sampled for", agent.Seconds, parameters.Seconds), fact("Samples", agent.Count, flame.Samples)},
		Flame: &flame,
		Notes: []string{
			"Threads that run Java code, sampled every 10 ms. Waiting, native code, the collector and the compiler are not in it.",
			fmt.Sprintf("Functions that were seen in less than %g %% of the samples are left out.", smallestShare*100),
		},
	}, nil
}

// smallestShare of all samples that a function is shown with.
const smallestShare = 0.002

// frame is a function in the making.
type frame struct {
	samples int
	called  map[string]*frame
}

func (f *frame) call(name string) *frame {
	if f.called == nil {
		f.called = map[string]*frame{}
	}
	if f.called[name] == nil {
		f.called[name] = &frame{}
	}
	return f.called[name]
}

// readSamples folds what `jfr print` writes. Each sample's stack begins with the innermost function.
func readSamples(from io.Reader) (agent.AnswerFlame, error) {
	all := &frame{}
	var thread string
	var stack []string
	inStack := false
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		switch {
		case strings.HasPrefix(line, "sampledThread = "):
			thread = threadPool(line)
		case strings.HasPrefix(line, "stackTrace = ["):
			inStack, stack = true, stack[:0]
		case inStack && line == "]":
			inStack = false
			all.samples++
			at := all.call(thread)
			at.samples++
			for _, name := range slices.Backward(stack) {
				at = at.call(name)
				at.samples++
			}
		case inStack && line != "..." && line != "":
			stack = append(stack, functionName(line))
		}
	}
	root := all.told("all", int(smallestShare*float64(all.samples)))
	return agent.AnswerFlame{Samples: all.samples, Root: root}, lines.Err()
}

// told leaves out what was seen so many times at most.
func (f *frame) told(name string, atMost int) agent.FlameNode {
	node := agent.FlameNode{Name: name, Samples: f.samples}
	for inner, called := range f.called {
		if called.samples > atMost {
			node.Children = append(node.Children, called.told(inner, atMost))
		}
	}
	slices.SortFunc(node.Children, func(a, b agent.FlameNode) int {
		return cmp.Or(cmp.Compare(b.Samples, a.Samples), strings.Compare(a.Name, b.Name))
	})
	return node
}

// threadPool is the name in `sampledThread = "ReadStage-2" (javaThreadId = 43)` without its number, so that a pool is one.
func threadPool(line string) string {
	_, line, _ = strings.Cut(line, `"`)
	name, _, _ := strings.Cut(line, `"`)
	return strings.TrimRight(strings.TrimRight(name, "0123456789"), "-:# ")
}

// functionName is that in `java.util.HashMap.hash(Object) line: 338`, without its parameters.
func functionName(line string) string {
	name, _, _ := strings.Cut(line, "(")
	return name
}
