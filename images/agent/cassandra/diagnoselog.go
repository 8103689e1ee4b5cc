package cassandra

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"ringmaster/agent"
)

// Of one answer about a log: more is for the next page.
const (
	mostLogBytes   = 512 << 10
	mostEntryBytes = 8 << 10
)

// logLine is how logback.xml says that a line begins.
var logLine = regexp.MustCompile(`^(TRACE|DEBUG|INFO|WARN|ERROR) +\[(.*?)\] (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}) (\S+) - (.*)$`)

// secretInLog is what must not leave the machine, should anything ever write it there.
var secretInLog = regexp.MustCompile(`(?i)(\w*(?:password|secret)\w*\s*[=:]\s*)('[^']*'|"[^"]*"|[^\s,;}\]]+)`)

// entry is one of a log, with where in its file it begins.
type entry struct {
	agent.LogLine
	at int64
}

// readEntries gives the entries of a log up to an offset, one after another.
func readEntries(from io.Reader, until int64, each func(entry)) error {
	lines := bufio.NewReaderSize(from, 64<<10)
	var current *entry
	give := func() {
		if current != nil {
			current.Text = secretInLog.ReplaceAllString(strings.TrimRight(current.Text, "\n"), "$1<hidden>")
			each(*current)
		}
	}
	var offset int64
	for {
		line, err := lines.ReadString('\n')
		text := strings.TrimRight(line, "\r\n")
		found := logLine.FindStringSubmatch(text)
		switch {
		case found != nil && offset >= until:
			give()
			return nil
		case found != nil:
			give()
			current = &entry{at: offset, LogLine: agent.LogLine{Level: found[1], Thread: found[2], At: found[3], Source: found[4], Text: found[5]}}
		case line != "" && current != nil && len(current.Text) < mostEntryBytes:
			current.Text += "\n" + text
		}
		if current != nil && len(current.Text) > mostEntryBytes {
			current.Text = strings.ToValidUTF8(current.Text[:mostEntryBytes], "") + "…"
		}
		offset += int64(len(line))
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
	}
	give()
	return nil
}

// openLog opens a file of a log, packed or not.
func openLog(path string) (io.ReadCloser, error) {
	file, err := os.Open(path)
	if err != nil || !strings.HasSuffix(path, ".gz") {
		return file, err
	}
	unpacked, err := gzip.NewReader(file)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return struct {
		io.Reader
		io.Closer
	}{unpacked, file}, nil
}

var rolledLog = regexp.MustCompile(`\.log\.(\d{4}-\d\d-\d\d)\.(\d+)\.gz$`)

// logFiles are a log and what was rolled off it, the newest first.
func logFiles(path string) ([]string, error) {
	rolled, err := filepath.Glob(path + ".*.gz")
	if err != nil {
		return nil, err
	}
	order := func(path string) string {
		found := rolledLog.FindStringSubmatch(path)
		if found == nil {
			return ""
		}
		number, _ := strconv.Atoi(found[2])
		return fmt.Sprintf("%s %06d", found[1], number)
	}
	slices.SortFunc(rolled, func(a, b string) int { return strings.Compare(order(b), order(a)) })
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return rolled, nil
	}
	return append([]string{path}, rolled...), nil
}

// headOf tells a file from others even after it was rolled off and packed: by how it begins.
func headOf(path string) (string, error) {
	file, err := openLog(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	const enough = 200
	head := make([]byte, enough)
	count, err := io.ReadFull(file, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return "", err
	}
	sum := fnv.New64a()
	_, _ = sum.Write(head[:count])
	return strconv.FormatUint(sum.Sum64(), 16), nil
}

const wholeFile = int64(1) << 62

// logPage is the last lines of a log that are wanted, before the place where an earlier page began.
func logPage(path string, wanted agent.DiagnoseParameters) (agent.AnswerLog, error) {
	files, err := logFiles(path)
	if err != nil {
		return agent.AnswerLog{}, err
	}
	until := wholeFile
	if wanted.Before != "" {
		head, place, _ := strings.Cut(wanted.Before, "-")
		if until, err = strconv.ParseInt(place, 10, 64); err != nil {
			return agent.AnswerLog{}, agent.Errorf("invalid-parameters", "before is not what an answer gave.")
		}
		for len(files) > 0 {
			if found, err := headOf(files[0]); err == nil && found == head {
				break
			}
			files = files[1:]
		}
	}
	search := strings.ToLower(wanted.Search)
	least := slices.Index(agent.LogLevels(), wanted.Level)
	page := agent.AnswerLog{Lines: []agent.LogLine{}}
	size := 0
	for _, path := range files {
		var kept []entry
		file, err := openLog(path)
		if err != nil {
			return agent.AnswerLog{}, err
		}
		err = readEntries(file, until, func(one entry) {
			if slices.Index(agent.LogLevels(), one.Level) < least || search != "" && !strings.Contains(strings.ToLower(one.Source+" "+one.Thread+" "+one.Text), search) {
				return
			}
			if kept = append(kept, one); len(kept) > 2*agent.MostRows {
				kept = slices.Clone(kept[len(kept)-agent.MostRows:])
			}
		})
		if err := errors.Join(err, file.Close()); err != nil {
			return agent.AnswerLog{}, err
		}
		for index := len(kept) - 1; index >= 0; index-- {
			if size += len(kept[index].Text); len(page.Lines) == wanted.Limit || size > mostLogBytes && len(page.Lines) > 0 {
				head, err := headOf(path)
				if err != nil {
					return agent.AnswerLog{}, err
				}
				// The entry itself is part of the next page, so what begins after its first byte is not.
				page.Before = fmt.Sprintf("%s-%d", head, kept[index].at+1)
				slices.Reverse(page.Lines)
				return page, nil
			}
			page.Lines = append(page.Lines, kept[index].LogLine)
		}
		until = wholeFile
	}
	slices.Reverse(page.Lines)
	return page, nil
}

func (e *Engine) askLog(_ context.Context, parameters agent.DiagnoseParameters, _ agent.Report) (agent.Answer, error) {
	page, err := logPage(e.place.systemLog(), parameters)
	return agent.Answer{Log: &page}, err
}
