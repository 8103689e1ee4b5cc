// Package process starts programs that outlive the agent, and finds them again: by number and start time, never by
// number alone, and as a last resort by a mark on their command line.
package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// ID names one process for all time: numbers are used again, also across reboots.
type ID struct {
	PID int `json:"pid"`
	// StartTicks is the start time in clock ticks after boot, field 22 of /proc/PID/stat.
	StartTicks uint64 `json:"start_ticks"`
	BootID     string `json:"boot_id"`
}

// ErrGone means that the process has ended.
var ErrGone = errors.New("the process has ended")

// Spec is what to start.
type Spec struct {
	Program   string
	Arguments []string
	Folder    string
	// Output takes standard output and error, appended.
	Output string
	// CPUs are those it may run on, with all its threads and children; none means all.
	CPUs []int
}

// Start runs the program in a session of its own, so that neither the agent's end nor its terminal touches it.
func Start(spec Spec) (ID, error) {
	output, err := os.OpenFile(spec.Output, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return ID{}, fmt.Errorf("start %s: %w", spec.Program, err)
	}
	defer output.Close()
	command := exec.Command(spec.Program, spec.Arguments...)
	command.Dir = spec.Folder
	command.Stdout = output
	command.Stderr = output
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := startOn(command, spec.CPUs); err != nil {
		return ID{}, fmt.Errorf("start %s: %w", spec.Program, err)
	}
	id, err := identify(command.Process.Pid)
	// Somebody must take note of the end of a child, or it stays in the process table.
	go func() { _ = command.Wait() }()
	if err != nil {
		return ID{}, fmt.Errorf("start %s: it ended at once", spec.Program)
	}
	return id, nil
}

// startOn starts the command from a thread that is confined to the CPUs, which a child inherits: confined later, the
// threads it has started by then would stay where they are.
func startOn(command *exec.Cmd, cpus []int) error {
	if len(cpus) == 0 {
		return command.Start()
	}
	runtime.LockOSThread()
	var before, wanted unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		runtime.UnlockOSThread()
		return err
	}
	for _, id := range cpus {
		wanted.Set(id)
	}
	err := unix.SchedSetaffinity(0, &wanted)
	if err == nil {
		err = command.Start()
	}
	// A thread that cannot be set free stays locked and ends with its goroutine.
	if unix.SchedSetaffinity(0, &before) == nil {
		runtime.UnlockOSThread()
	}
	return err
}

// CPUs are those that the very process may run on, as the kernel writes lists. ErrGone.
func CPUs(id ID) (string, error) {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", id.PID))
	if err != nil || !Alive(id) {
		return "", ErrGone
	}
	for line := range strings.Lines(string(content)) {
		if value, found := strings.CutPrefix(line, "Cpus_allowed_list:"); found {
			return strings.TrimSpace(value), nil
		}
	}
	return "", nil
}

// Limit is the soft limit of the very process that the kernel calls by this name, for example "Max open files". ErrGone.
func Limit(id ID, name string) (string, error) {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", id.PID))
	if err != nil || !Alive(id) {
		return "", ErrGone
	}
	for line := range strings.Lines(string(content)) {
		if rest, found := strings.CutPrefix(line, name); found {
			if fields := strings.Fields(rest); len(fields) > 0 {
				return fields[0], nil
			}
		}
	}
	return "", nil
}

// Alive tells whether that very process still runs.
func Alive(id ID) bool {
	if id.PID <= 0 {
		return false
	}
	found, err := identify(id.PID)
	return err == nil && found == id
}

// Signal sends a signal to that very process. ErrGone.
func Signal(id ID, signal syscall.Signal) error {
	handle, err := open(id)
	if err != nil {
		return err
	}
	defer unix.Close(handle)
	if err := unix.PidfdSendSignal(handle, signal, nil, 0); err != nil {
		if errors.Is(err, unix.ESRCH) {
			return ErrGone
		}
		return fmt.Errorf("signal process %d: %w", id.PID, err)
	}
	return nil
}

// Wait returns nil when the process has ended, or the error of ctx.
func Wait(ctx context.Context, id ID) error {
	handle, err := open(id)
	if errors.Is(err, ErrGone) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(handle)
	var bell [2]int
	if err := unix.Pipe2(bell[:], unix.O_CLOEXEC); err != nil {
		return fmt.Errorf("wait for process %d: %w", id.PID, err)
	}
	defer unix.Close(bell[0])
	rung := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		_ = unix.Close(bell[1])
		close(rung)
	})
	defer func() {
		if stop() {
			_ = unix.Close(bell[1])
		} else {
			<-rung
		}
	}()
	events := []unix.PollFd{{Fd: int32(handle), Events: unix.POLLIN}, {Fd: int32(bell[0]), Events: unix.POLLIN}}
	for {
		_, err := unix.Poll(events, -1)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return fmt.Errorf("wait for process %d: %w", id.PID, err)
		case events[0].Revents != 0:
			return nil
		default:
			return ctx.Err()
		}
	}
}

// Of names the process that has the number now. ErrGone.
func Of(pid int) (ID, error) { return identify(pid) }

// Find returns the process that carries mark as one whole word of its command line. ErrGone when there is none.
func Find(mark string) (ID, error) {
	entries, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return ID{}, err
	}
	for _, entry := range entries {
		content, err := os.ReadFile(entry)
		if err != nil {
			continue // ended meanwhile, or not ours to read
		}
		for word := range bytes.SplitSeq(content, []byte{0}) {
			if string(word) != mark {
				continue
			}
			number, err := strconv.Atoi(filepath.Base(filepath.Dir(entry)))
			if err != nil {
				continue
			}
			if id, err := identify(number); err == nil {
				return id, nil
			}
		}
	}
	return ID{}, ErrGone
}

// Arguments is the command line of that very process. ErrGone.
func Arguments(id ID) ([]string, error) {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", id.PID))
	if err != nil || !Alive(id) {
		return nil, ErrGone
	}
	return strings.Split(strings.TrimSuffix(string(content), "\x00"), "\x00"), nil
}

// StartedAt is when the process began, to a hundredth of a second. ErrGone.
func StartedAt(id ID) (time.Time, error) {
	if !Alive(id) {
		return time.Time{}, ErrGone
	}
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		return time.Time{}, err
	}
	const ticksPerSecond = 100 // USER_HZ, fixed in Linux's interface to programs
	age := time.Duration(now.Nano()) - time.Duration(id.StartTicks)*time.Second/ticksPerSecond
	return time.Now().Add(-age).UTC(), nil
}

// open pins the process before looking whose number it is, so that a number used again is never hit.
func open(id ID) (int, error) {
	if id.PID <= 0 {
		return 0, ErrGone
	}
	handle, err := unix.PidfdOpen(id.PID, 0)
	if errors.Is(err, unix.ESRCH) {
		return 0, ErrGone
	}
	if err != nil {
		return 0, fmt.Errorf("open process %d: %w", id.PID, err)
	}
	if !Alive(id) {
		_ = unix.Close(handle)
		return 0, ErrGone
	}
	return handle, nil
}

// identify reads who has the number now. A process that ended and was not taken note of counts as gone.
func identify(pid int) (ID, error) {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ID{}, ErrGone
	}
	// The second field is the program's name in brackets and may hold anything, brackets too.
	_, rest, found := strings.Cut(string(content[bytes.LastIndexByte(content, ')')+1:]), " ")
	fields := strings.Fields(rest)
	if !found || len(fields) < 20 || fields[0] == "Z" || fields[0] == "X" {
		return ID{}, ErrGone
	}
	ticks, err := strconv.ParseUint(fields[19], 10, 64)
	if err != nil {
		return ID{}, fmt.Errorf("start time of process %d: %w", pid, err)
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ID{}, fmt.Errorf("boot id: %w", err)
	}
	return ID{PID: pid, StartTicks: ticks, BootID: strings.TrimSpace(string(boot))}, nil
}
