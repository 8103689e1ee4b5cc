package cassandra

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ringmaster/agent"
	"ringmaster/agent/statefile"
)

// longestLine is what a program may say in one line: all that it found.
const longestLine = 16 << 20

// besideLogging is for the engine's classes: what goes wrong, to standard error.
const besideLogging = `<configuration><appender name="errors" class="ch.qos.logback.core.ConsoleAppender"><target>System.err</target>` +
	`<encoder><pattern>%level %msg%n</pattern></encoder></appender><root level="WARN"><appender-ref ref="errors"/></root></configuration>`

// offlineSource stands behind every program: what they have in common.
//
//go:embed beside/Offline.java
var offlineSource []byte

// besideEngine is a small program of ours that works with the engine's own classes, in a JVM of its own. Java compiles it as it starts.
type besideEngine struct {
	// name is that of its file, source what stands in it, heap as -Xmx has it.
	name   string
	source []byte
	heap   string
	// idleDisks: it reads only what nobody else wants to read meanwhile.
	idleDisks bool
	// failure is the error code when it ends badly, what it could not read then: "The commit log".
	failure, what string
}

// run ends with the program. It is told the order as JSON, and each line that it says is given to `said`. The engine's CPUs are the
// engine's: it has the lowest priority and no more threads than it needs. What it writes besides stays in scratch.
func (p besideEngine) run(ctx context.Context, found tree, with java, scratch string, order any, said func(line []byte)) error {
	program, orderFile := filepath.Join(scratch, p.name), filepath.Join(scratch, "order.json")
	logging, temporary := filepath.Join(scratch, "logback.xml"), filepath.Join(scratch, "tmp")
	if err := errors.Join(
		os.MkdirAll(temporary, 0o700), os.WriteFile(program, inOneFile(p.source, offlineSource), 0o600), os.WriteFile(logging, []byte(besideLogging), 0o600),
		statefile.WriteJSON(orderFile, order),
	); err != nil {
		return err
	}
	words := []string{"-n", "19"}
	if p.idleDisks {
		words = append(words, "ionice", "-c", "3")
	}
	words = append(words, with.program("java"),
		"-Xmx"+p.heap, "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:ActiveProcessorCount=1", "@"+filepath.Join(found.folder, "jvm.options"),
		"-Dlogback.configurationFile="+logging, "-Djava.io.tmpdir="+temporary, "-Dcassandra.storagedir="+temporary,
		"-cp", found.classPath(), program, orderFile)
	command := exec.CommandContext(ctx, "nice", words...)
	command.Dir = scratch
	// It may have started others by then, which hold its output.
	command.WaitDelay = 5 * time.Second
	var problems strings.Builder
	command.Stderr = &problems
	output, err := command.StdoutPipe()
	if err != nil {
		return err
	}
	if err := command.Start(); err != nil {
		return err
	}
	lines := bufio.NewScanner(output)
	lines.Buffer(nil, longestLine)
	for lines.Scan() {
		said(lines.Bytes())
	}
	err = errors.Join(lines.Err(), command.Wait())
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	default:
		return agent.Errorf(p.failure, "%s could not be read (%v): %s", p.what, err, shortened(firstProblem(problems.String())))
	}
}

// inOneFile puts two sources into one, which is all that Java compiles as it starts; the class that it runs comes first. Imports may stand twice.
func inOneFile(program, shared []byte) []byte {
	var imports, classes []byte
	for line := range bytes.Lines(shared) {
		if bytes.HasPrefix(line, []byte("import ")) {
			imports = append(imports, line...)
		} else {
			classes = append(classes, line...)
		}
	}
	return slices.Concat(imports, program, classes)
}

func firstProblem(said string) string {
	for line := range strings.Lines(said) {
		if strings.Contains(line, "Exception") || strings.Contains(line, "Error") {
			return strings.TrimSpace(line)
		}
	}
	return strings.TrimSpace(said)
}
