package cassandra

import (
	"context"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"ringmaster/agent"
)

// drain makes the engine flush and take no more requests, so that its next start has nothing to replay.
//
// The engine has no management port. The attach interface lets only the same user in; through it the bundled tool
// opens a connector that answers local callers who know its random name, and calls the one method.
func (e *Engine) drain(ctx context.Context, _ Nothing, report agent.Report) (Nothing, error) {
	if err := e.running(); err != nil {
		return Nothing{}, err
	}
	config, err := e.configured()
	if err != nil {
		return Nothing{}, err
	}
	found, err := openTree(e.cache, config.Version)
	if err != nil {
		return Nothing{}, err
	}
	with, err := findJava()
	if err != nil {
		return Nothing{}, err
	}
	report(0.1, "Flushing")
	e.control.forget()
	within, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	command := exec.CommandContext(within, with.program("java"),
		"-XX:TieredStopAtLevel=1", "-Xmx64m", "--add-exports=jdk.attach/sun.tools.attach=ALL-UNNAMED",
		"--add-opens=jdk.attach/sun.tools.attach=ALL-UNNAMED",
		"-cp", found.classPath(), "org.gridkit.jvmtool.SJK",
		"mx", "-p", strconv.Itoa(e.supervisor.Condition().Process.PID), "-b", "org.apache.cassandra.db:type=StorageService", "-mc", "-op", "drain")
	said, err := command.CombinedOutput()
	if err != nil {
		return Nothing{}, agent.Errorf("drain-failed", "The engine could not be drained: %s", shortened(strings.TrimSpace(string(said))))
	}
	return Nothing{}, nil
}
