package tuning

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ringmaster/agent"
	"ringmaster/agent/pinning"
	"ringmaster/agent/statefile"
)

// Runner runs a program to its end.
type Runner interface {
	Run(ctx context.Context, program string, arguments ...string) (string, error)
}

// Host is the machine that a plan is applied to.
type Host struct {
	// Root is "/" but in tests.
	Root string
	// State is the folder for what must be known later.
	State  string
	Runner Runner
}

// Before is how one thing was before tuning.
type Before struct {
	Path string `json:"path"`
	// Absent: a file that was not there.
	Absent  bool   `json:"absent,omitempty"`
	Content string `json:"content"`
	Setting bool   `json:"setting,omitempty"`
}

// Applied is what tuning did, kept in the state folder.
type Applied struct {
	Plan Plan      `json:"plan"`
	At   time.Time `json:"at"`
	// Before is how everything was that was ever changed, in the order of the changes.
	Before []Before `json:"before"`
	// Refused are optional settings that the kernel did not take, by path.
	Refused map[string]string `json:"refused"`
}

// Applied is what an earlier Apply did; nil when there was none.
func (h Host) Applied() (*Applied, error) {
	var applied Applied
	err := statefile.ReadJSON(h.path(), &applied)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &applied, nil
}

// Apply carries the plan out. What is so already is left alone; what was before is kept first, and only the first time. The number of
// things changed is returned. Error code: tuning-failed.
func (h Host) Apply(ctx context.Context, plan Plan) (int, error) {
	applied, err := h.Applied()
	if err != nil {
		return 0, err
	}
	if applied == nil {
		applied = &Applied{}
	}
	applied.Plan, applied.At, applied.Refused = plan, time.Now().UTC().Truncate(time.Second), map[string]string{}
	changed := 0
	for _, file := range plan.Files {
		did, err := h.change(applied, Before{Path: strings.TrimPrefix(file.Path, "/")}, file.Content)
		if err != nil {
			return changed, agent.Errorf("tuning-failed", "%s could not be written: %v", file.Path, err)
		}
		changed += did
	}
	for _, setting := range plan.Settings {
		did, err := h.change(applied, Before{Path: setting.Path, Setting: true}, setting.Value)
		switch {
		case err != nil && setting.Optional:
			applied.Refused[setting.Path] = err.Error()
		case err != nil:
			return changed, agent.Errorf("tuning-failed", "/%s could not be set to %q: %v", setting.Path, setting.Value, err)
		}
		changed += did
	}
	if changed > 0 {
		for _, command := range plan.Commands {
			if _, err := h.Runner.Run(ctx, command[0], command[1:]...); err != nil {
				return changed, agent.Errorf("tuning-failed", "%s: %v", strings.Join(command, " "), err)
			}
		}
	}
	if layout := plan.Layout(); layout != nil {
		if err := statefile.WriteJSON(h.layoutPath(), layout); err != nil {
			return changed, err
		}
	}
	return changed, statefile.WriteJSON(h.path(), applied)
}

// Layout is that of the last plan whose layout mattered; nil when there was none. It outlives Revert, as the data does.
func (h Host) Layout() (*Layout, error) {
	var layout Layout
	err := statefile.ReadJSON(h.layoutPath(), &layout)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &layout, nil
}

// change makes one file or setting so. It returns 1 when it was not.
func (h Host) change(applied *Applied, before Before, wanted string) (int, error) {
	full := filepath.Join(h.Root, before.Path)
	content, err := os.ReadFile(full)
	switch {
	case err == nil:
		before.Content = string(content)
	case errors.Is(err, fs.ErrNotExist) && !before.Setting:
		before.Absent = true
	default:
		return 0, err
	}
	if !before.Absent && (before.Content == wanted || (before.Setting && Same(before.Path, before.Content, wanted))) {
		return 0, nil
	}
	if !slices.ContainsFunc(applied.Before, func(known Before) bool { return known.Path == before.Path }) {
		applied.Before = append(applied.Before, before)
		if err := statefile.WriteJSON(h.path(), applied); err != nil {
			return 0, err
		}
	}
	if before.Setting {
		err = os.WriteFile(full, []byte(wanted), 0o644)
	} else {
		err = writeFile(full, wanted)
	}
	if err != nil {
		return 0, err
	}
	return 1, nil
}

func writeFile(path, content string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := statefile.Write(path, []byte(content)); err != nil {
		return err
	}
	return os.Chmod(path, 0o644) // other programs read these
}

// Revert puts everything back as it was before the first Apply, the last change first, and returns how much that was. A file or
// setting that is gone is passed over. Error code: revert-failed.
func (h Host) Revert(ctx context.Context) (int, error) {
	applied, err := h.Applied()
	if err != nil || applied == nil {
		return 0, err
	}
	for _, before := range slices.Backward(applied.Before) {
		if err := h.putBack(before); err != nil {
			return 0, agent.Errorf("revert-failed", "/%s could not be put back: %v", before.Path, err)
		}
	}
	for _, command := range applied.Plan.Commands {
		if _, err := h.Runner.Run(ctx, command[0], command[1:]...); err != nil {
			return 0, agent.Errorf("revert-failed", "%s: %v", strings.Join(command, " "), err)
		}
	}
	return len(applied.Before), os.Remove(h.path())
}

func (h Host) putBack(before Before) error {
	full := filepath.Join(h.Root, before.Path)
	var err error
	switch {
	case before.Setting:
		// What the kernel shows as a choice, "always [madvise] never", is not what it takes.
		if err = os.WriteFile(full, []byte(chosen(before.Content)), 0o644); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
	case before.Absent:
		if err = os.Remove(full); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
	default:
		err = writeFile(full, before.Content)
	}
	return err
}

func (h Host) path() string { return filepath.Join(h.State, "tuning.json") }

func (h Host) layoutPath() string { return filepath.Join(h.State, "layout.json") }

// chosen is the word in brackets of what the kernel shows as a choice, else the whole.
func chosen(shown string) string {
	if _, rest, found := strings.Cut(shown, "["); found {
		if word, _, closed := strings.Cut(rest, "]"); closed {
			return word
		}
	}
	return strings.TrimSpace(shown)
}

// Same tells whether a kernel file shows the value wanted: masks are padded with zeros, choices stand in brackets.
func Same(path, shown, wanted string) bool {
	if strings.HasSuffix(path, "smp_affinity") || strings.HasSuffix(path, "_cpus") {
		found, err := pinning.ParseMask(shown)
		if err != nil {
			return false
		}
		mask, err := pinning.ParseMask(wanted)
		return err == nil && slices.Equal(found, mask)
	}
	return chosen(shown) == wanted
}

// String is for people: what the plan would do.
func (p Plan) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s: interrupts on CPUs %s, %d shards on %s\n", p.Engine, p.Pins.IRQ, p.Pins.NShards, p.Pins.Shards)
	for _, file := range p.Files {
		fmt.Fprintf(&text, "write %s\n", file.Path)
	}
	for _, setting := range p.Settings {
		fmt.Fprintf(&text, "set /%s to %s\n", setting.Path, setting.Value)
	}
	for _, command := range p.Commands {
		fmt.Fprintf(&text, "run %s\n", strings.Join(command, " "))
	}
	for _, warning := range p.Warnings {
		fmt.Fprintf(&text, "warning %s: %s\n", warning.Code, warning.Message)
	}
	return text.String()
}
