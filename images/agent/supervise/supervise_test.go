package supervise_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"ringmaster/agent"
	"ringmaster/agent/process"
	"ringmaster/agent/supervise"
)

// TestMain is also the engine of these tests: the test binary, started again with other words.
func TestMain(m *testing.M) {
	if len(os.Args) > 3 && os.Args[1] == "fake-engine" {
		fakeEngine(os.Args[2], os.Args[3])
	}
	os.Exit(m.Run())
}

// fakeEngine serves when its ready file exists. It ends by itself after a minute, whatever happens to the test.
func fakeEngine(behaviour, readyFile string) {
	terminated := make(chan os.Signal, 1)
	signal.Notify(terminated, syscall.SIGTERM)
	if behaviour == "broken" {
		fmt.Println("ERROR no space left")
		os.Exit(1)
	}
	if err := os.WriteFile(readyFile, []byte(fmt.Sprint(os.Getpid())), 0o600); err != nil {
		os.Exit(1)
	}
	for timeout := time.After(time.Minute); ; {
		select {
		case <-terminated:
			if behaviour != "stubborn" {
				os.Exit(0)
			}
		case <-timeout:
			os.Exit(0)
		}
	}
}

// engine is the Program of these tests.
type engine struct {
	folder    string
	behaviour string
	boots     []bool
}

func (e *engine) Command(firstBoot bool) (process.Spec, error) {
	e.boots = append(e.boots, firstBoot)
	_ = os.Remove(e.readyFile())
	return process.Spec{
		Program: os.Args[0], Arguments: []string{"fake-engine", e.behaviour, e.readyFile(), e.Mark()}, Folder: e.folder,
		Output: filepath.Join(e.folder, "output.log"),
	}, nil
}

func (e *engine) Mark() string      { return "--mark=" + e.folder }
func (e *engine) readyFile() string { return filepath.Join(e.folder, "ready") }

func (e *engine) Ready(context.Context) error {
	_, err := os.Stat(e.readyFile())
	return err
}

func (e *engine) LastWords() string {
	said, _ := os.ReadFile(filepath.Join(e.folder, "output.log"))
	return strings.TrimSpace(string(said))
}

func quick() supervise.Timing {
	return supervise.Timing{
		ReadyPoll: 5 * time.Millisecond, FirstPause: 10 * time.Millisecond, LongestPause: 50 * time.Millisecond,
		Calm: time.Minute, Attempts: 3,
	}
}

// watched starts a supervisor as an agent does, and returns how to end that agent without ending the engine.
func watched(t *testing.T, program *engine) (*supervise.Supervisor, func()) {
	t.Helper()
	supervisor, err := supervise.New(program, filepath.Join(program.folder, "engine.json"), quick(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- supervisor.Run(ctx) }()
	leave := func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		ended <- nil
	}
	t.Cleanup(func() {
		leave()
		_ = process.Signal(supervisor.Condition().Process, syscall.SIGKILL)
	})
	return supervisor, leave
}

func start(t *testing.T, supervisor *supervise.Supervisor) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := supervisor.Start(ctx); err != nil {
		t.Fatal(err)
	}
}

func eventually(t *testing.T, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it did not come true in time")
		}
	}
}

func TestStartingTwiceIsStartingOnce(t *testing.T) {
	program := &engine{folder: t.TempDir(), behaviour: "serve"}
	supervisor, _ := watched(t, program)
	start(t, supervisor)
	first := supervisor.Condition()
	start(t, supervisor)
	if second := supervisor.Condition(); second != first || !second.Ready || len(program.boots) != 1 {
		t.Fatalf("first %+v, second %+v, boots %v", first, second, program.boots)
	}
}

func TestAnEngineThatIsKilledIsStartedAgainAndNotAsForTheFirstTime(t *testing.T) {
	program := &engine{folder: t.TempDir(), behaviour: "serve"}
	supervisor, _ := watched(t, program)
	start(t, supervisor)
	killed := supervisor.Condition().Process
	if err := process.Signal(killed, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool { now := supervisor.Condition(); return now.Ready && now.Process != killed })
	if now := supervisor.Condition(); now.Restarts != 1 || program.boots[0] != true || program.boots[1] != false {
		t.Fatalf("%+v, boots %v", now, program.boots)
	}
}

func TestAnotherAgentFindsTheEngineAgain(t *testing.T) {
	program := &engine{folder: t.TempDir(), behaviour: "serve"}
	first, leave := watched(t, program)
	start(t, first)
	leave()
	second, _ := watched(t, program)
	eventually(t, func() bool { return second.Condition().Ready })
	if first.Condition().Process != second.Condition().Process || len(program.boots) != 1 {
		t.Fatalf("%+v and %+v", first.Condition(), second.Condition())
	}
}

func TestAnEngineThatNobodyNotedIsFoundByItsMark(t *testing.T) {
	program := &engine{folder: t.TempDir(), behaviour: "serve"}
	first, leave := watched(t, program)
	start(t, first)
	leave()
	// As if the agent had been killed between starting the engine and noting it.
	if err := os.WriteFile(filepath.Join(program.folder, "engine.json"), []byte(`{"wanted": true}`), 0o600); err != nil {
		t.Fatal(err)
	}
	second, _ := watched(t, program)
	if first.Condition().Process != second.Condition().Process {
		t.Fatalf("%+v and %+v", first.Condition(), second.Condition())
	}
}

func TestAnEngineThatEndedWhileNoAgentRanIsStartedByTheNext(t *testing.T) {
	program := &engine{folder: t.TempDir(), behaviour: "serve"}
	first, leave := watched(t, program)
	start(t, first)
	leave()
	gone := first.Condition().Process
	if err := process.Signal(gone, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := process.Wait(context.Background(), gone); err != nil {
		t.Fatal(err)
	}
	second, _ := watched(t, program)
	eventually(t, func() bool { return second.Condition().Ready && second.Condition().Process != gone })
}

func TestAnEngineThatAlwaysEndsIsGivenUpWithItsLastWords(t *testing.T) {
	program := &engine{folder: t.TempDir(), behaviour: "broken"}
	supervisor, _ := watched(t, program)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	err := supervisor.Start(ctx)
	var coded *agent.Error
	if !errors.As(err, &coded) || coded.Code != "engine-exited" || !strings.Contains(coded.Message, "no space left") {
		t.Fatal(err)
	}
	if now := supervisor.Condition(); now.Wanted || now.Alive {
		t.Fatalf("%+v", now)
	}
	program.behaviour = "serve"
	start(t, supervisor)
}

func TestStoppingEndsTheEngineForGood(t *testing.T) {
	for _, behaviour := range []string{"serve", "stubborn"} {
		t.Run(behaviour, func(t *testing.T) {
			program := &engine{folder: t.TempDir(), behaviour: behaviour}
			supervisor, leave := watched(t, program)
			start(t, supervisor)
			if err := supervisor.Stop(context.Background(), 200*time.Millisecond); err != nil {
				t.Fatal(err)
			}
			if now := supervisor.Condition(); now.Alive || now.Wanted || now.Restarts != 0 {
				t.Fatalf("%+v", now)
			}
			if err := supervisor.Stop(context.Background(), time.Second); err != nil {
				t.Fatal("stopping twice:", err)
			}
			leave()
			if next, _ := watched(t, program); next.Condition().Alive || next.Condition().Wanted {
				t.Fatal("the next agent started it again")
			}
		})
	}
}
