package scylla

import (
	"bufio"
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"ringmaster/agent/cql"
	"ringmaster/agent/process"
	"ringmaster/agent/statefile"
)

// program is the engine's process, for the supervisor.
type program struct{ engine *Engine }

// Mark is the name of its configuration, which no other node's engine has.
func (p program) Mark() string { return "--options-file=" + p.engine.place.yaml() }

func (p program) Command(firstBoot bool) (process.Spec, error) {
	e := p.engine
	config, err := e.configured()
	if err != nil {
		return process.Spec{}, err
	}
	if err := e.startable(!firstBoot); err != nil {
		return process.Spec{}, err
	}
	if err := writeFiles(config, e.place, e.identity, firstBoot); err != nil {
		return process.Spec{}, err
	}
	machine, err := machineOptions(e.at.Options)
	if err != nil {
		return process.Spec{}, err
	}
	if err := errors.Join(statefile.WriteJSON(e.startedPath(), config), e.noteRevision(config.Revision)); err != nil {
		return process.Spec{}, err
	}
	// What it says of this start stands alone in its file, so that last words are not those of an earlier one.
	if err := os.Rename(e.place.output(), e.place.output()+".1"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return process.Spec{}, err
	}
	words := append([]string{e.at.Binary}, arguments(p.Mark(), machine)...)
	if e.at.OwnScope {
		// The agent is kept on the interrupt CPUs, and so would be its children. This program becomes the engine, in a place of its own.
		words = append([]string{"systemd-run", "--scope", "--quiet", "--collect", "--slice=system.slice", "--"}, words...)
	}
	// It looks for the file that names its rack in the folder conf where it is started.
	return process.Spec{Program: words[0], Arguments: words[1:], Folder: e.place.root, Output: e.place.output()}, nil
}

// arguments are the whole command line after the program. Nothing secret may be in it: every user can read it.
func arguments(mark string, machine []string) []string {
	fixed := []string{mark, "--log-to-syslog=0", "--log-to-stdout=1", "--default-log-level=info", "--network-stack=posix"}
	return append(fixed, machine...)
}

var optionForm = regexp.MustCompile(`(?m)^(?:CPUSET|SEASTAR_IO|MEM_CONF|DEV_MODE)="([^"]*)"`)

// machineOptions are the words that the files of the machine add, as the engine's own unit reads them: cpuset.conf, io.conf and
// what an image may hold besides.
func machineOptions(folder string) ([]string, error) {
	var words []string
	for _, name := range []string{"cpuset.conf", "io.conf", "memory.conf", "dev-mode.conf"} {
		content, err := os.ReadFile(filepath.Join(folder, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, found := range optionForm.FindAllStringSubmatch(string(content), -1) {
			words = append(words, strings.Fields(found[1])...)
		}
	}
	return words, nil
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

// LastWords is the last error of this start, else the last line.
func (p program) LastWords() string {
	said := lines(p.engine.place.output())
	for index := len(said) - 1; index >= 0; index-- {
		if strings.HasPrefix(said[index], "ERROR") || strings.Contains(said[index], "error:") {
			return shortened(said[index])
		}
	}
	if len(said) > 0 {
		return shortened(said[len(said)-1])
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
	content, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	const tail = 64 << 10
	var found []string
	scanner := bufio.NewScanner(strings.NewReader(string(content[max(0, len(content)-tail):])))
	scanner.Buffer(nil, tail)
	for scanner.Scan() {
		if line := strings.TrimSpace(scanner.Text()); line != "" {
			found = append(found, line)
		}
	}
	return found
}

func (e *Engine) cqlAddress() (string, error) {
	config, err := e.configured()
	if err != nil {
		return "", err
	}
	return net.JoinHostPort(config.Address, strconv.Itoa(cqlPort)), nil
}
