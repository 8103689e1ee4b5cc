package cassandra

import (
	"bufio"
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"strings"
	"time"

	"ringmaster/agent/cql"
	"ringmaster/agent/process"
)

// program is the engine's process, for the supervisor.
type program struct{ engine *Engine }

func (p program) Mark() string { return "-Dringmaster.machine=" + p.engine.place.root }

func (p program) Command(firstBoot bool) (process.Spec, error) {
	config, err := p.engine.configured()
	if err != nil {
		return process.Spec{}, err
	}
	found, err := openTree(p.engine.cache, config.Version)
	if err != nil {
		return process.Spec{}, err
	}
	with, err := findJava()
	if err != nil {
		return process.Spec{}, err
	}
	if err := p.engine.startable(!firstBoot); err != nil {
		return process.Spec{}, err
	}
	start, err := p.engine.chooseBoot(config, !firstBoot)
	if err != nil {
		return process.Spec{}, err
	}
	place := p.engine.place
	if err := writeFiles(config, place, p.engine.tlsFiles(), start); err != nil {
		return process.Spec{}, err
	}
	if err := p.engine.archive.BeforeStart(); err != nil {
		// The engine is worth more than its archive, which notes the gap.
		p.engine.log.Warn("the commit log was not linked before the engine starts", "error", err)
	}
	if err := p.engine.noteRevision(config.Revision); err != nil {
		return process.Spec{}, err
	}
	// What it says of this start stands alone in its file, so that last words are not those of an earlier one.
	if err := os.Rename(place.output(), place.output()+".1"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return process.Spec{}, err
	}
	return process.Spec{
		Program: with.program("java"), Arguments: jvmArguments(config, place, found, with, p.Mark(), start),
		Folder: place.root, Output: place.output(), CPUs: p.engine.cpus,
	}, nil
}

func (p program) Ready(ctx context.Context) error {
	address, err := p.engine.cqlAddress()
	if err != nil {
		return err
	}
	// A refused connection is all that most questions cost; the handshake is only tried when something listens.
	socket, err := net.DialTimeout("tcp", address, time.Second)
	if err != nil {
		return err
	}
	_ = socket.Close()
	config, err := p.engine.identity.Trust()
	if err != nil {
		return err
	}
	within, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	return cql.Probe(within, address, config)
}

// LastWords is the last error of this start: what the JVM printed, else what the engine logged.
func (p program) LastWords() string {
	printed := lines(p.engine.place.output())
	for _, said := range [][]string{printed, lines(p.engine.place.systemLog())} {
		for index := len(said) - 1; index >= 0; index-- {
			line := strings.TrimSpace(said[index])
			// The engine logs its own command line, which names an error as an option.
			if strings.Contains(line, "WARN") || strings.HasPrefix(line, "at ") || strings.Contains(line, "ExitOnOutOfMemoryError") {
				continue
			}
			if strings.Contains(line, "ERROR") || strings.Contains(line, "Exception") || strings.Contains(line, "Error") {
				return shortened(line)
			}
		}
	}
	for index := len(printed) - 1; index >= 0; index-- {
		if !strings.Contains(printed[index], "WARN") {
			return shortened(printed[index])
		}
	}
	return "it said nothing; it may have been killed"
}

func shortened(line string) string {
	const longest = 400
	if len(line) > longest {
		return strings.ToValidUTF8(line[:longest], "") + "…"
	}
	return line
}

// lines are the last ones of a file, at most 64 KiB.
func lines(path string) []string {
	file, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer file.Close()
	const tail = 64 << 10
	if size, err := file.Seek(0, 2); err != nil || size > tail {
		if _, err := file.Seek(-tail, 2); err != nil {
			return nil
		}
	} else if _, err := file.Seek(0, 0); err != nil {
		return nil
	}
	var found []string
	scanner := bufio.NewScanner(file)
	scanner.Buffer(nil, tail)
	for scanner.Scan() {
		if strings.TrimSpace(scanner.Text()) != "" {
			found = append(found, scanner.Text())
		}
	}
	return found
}

func (e *Engine) tlsFiles() tlsFiles {
	return tlsFiles{keyAndCertificate: e.identity.KeyAndCertificate, authority: e.identity.Authority}
}
