package cassandra

import (
	"archive/zip"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"ringmaster/agent/statefile"
)

// collectorProgram reads the engine's metrics from inside of its process. It is compiled against the engine that runs, so that it fits
// whatever version is there, and loaded while it runs: the start of the engine does not depend on it, and a newer agent brings a newer one.
//
//go:embed collector/Collector.java
var collectorProgram []byte

const (
	// collectorRetry is how long an engine is left alone after the collector could not be loaded into it.
	collectorRetry = 5 * time.Minute
	// collectorLoad is how long compiling and loading may take.
	collectorLoad = time.Minute
)

// collector is the program in the engine's process.
type collector struct {
	asking sync.Once
	asked  *questions

	mu sync.Mutex
	// loading is nil unless it is being loaded; it is closed when that has ended.
	loading chan struct{}
	// failed is why it could not be loaded into the process failedPID, at failedAt.
	failed    error
	failedPID int
	failedAt  time.Time
}

// collectorVersion is of the source: two that differ can be in one process.
func collectorVersion() string {
	digest := sha256.Sum256(collectorProgram)
	return hex.EncodeToString(digest[:6])
}

// collect asks the collector in the engine's process, after loading it there if need be, and hands its answer to read.
func (e *Engine) collect(ctx context.Context, question string, read func(io.Reader) error) error {
	condition := e.supervisor.Condition()
	if !condition.Alive || !condition.Ready {
		return errors.New("the engine does not run")
	}
	pid := condition.Process.PID
	conn, err := e.collectorOf(ctx, pid)
	if err != nil {
		return err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	within := time.Minute
	if until, limited := ctx.Deadline(); limited {
		within = time.Until(until)
	}
	if _, err := io.WriteString(conn, "within "+strconv.FormatInt(within.Milliseconds(), 10)+"\n"+question+"\n"); err != nil {
		return err
	}
	return read(conn)
}

// collectorOf is a connection to the collector in the process.
func (e *Engine) collectorOf(ctx context.Context, pid int) (net.Conn, error) {
	conn, err := dialCollector(ctx, pid)
	if err == nil {
		return conn, nil
	}
	c := &e.collector
	c.mu.Lock()
	if c.failed != nil && c.failedPID == pid && time.Since(c.failedAt) < collectorRetry {
		err := c.failed
		c.mu.Unlock()
		return nil, err
	}
	if c.loading == nil {
		c.loading = make(chan struct{})
		go e.loadCollector(pid)
	}
	loading := c.loading
	c.mu.Unlock()
	select {
	case <-ctx.Done():
		return nil, errors.New("the collector is still being loaded into the engine")
	case <-loading:
	}
	c.mu.Lock()
	err = c.failed
	c.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return dialCollector(ctx, pid)
}

// dialCollector reaches the socket by the folder that the engine runs in: a path of its own might be too long for a socket.
func dialCollector(ctx context.Context, pid int) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, "unix", fmt.Sprintf("/proc/%d/cwd/%s", pid, collectorSocket()))
}

func collectorSocket() string { return "metrics-" + collectorVersion() + ".sock" }

// loadCollector compiles the program if nobody has yet, and has the JVM load it. It outlives the question that needed it.
func (e *Engine) loadCollector(pid int) {
	ctx, cancel := context.WithTimeout(context.Background(), collectorLoad)
	defer cancel()
	err := e.loadInto(ctx, pid)
	if err != nil {
		err = fmt.Errorf("the collector could not be loaded into the engine: %w", err)
		e.log.Warn("no metrics of the engine", "error", err)
	}
	c := &e.collector
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failed, c.failedPID, c.failedAt = err, pid, time.Now()
	close(c.loading)
	c.loading = nil
}

func (e *Engine) loadInto(ctx context.Context, pid int) error {
	config, err := e.configured()
	if err != nil {
		return err
	}
	found, err := openTree(e.cache, config.Version)
	if err != nil {
		return err
	}
	with, err := findJava()
	if err != nil {
		return err
	}
	jar, err := e.collectorJar(ctx, found, with)
	if err != nil {
		return err
	}
	said, err := helperOf(ctx, with, "jcmd", strconv.Itoa(pid), "JVMTI.agent_load", jar, collectorSocket())
	// It ends with 0 whatever came of it.
	if err == nil && !strings.Contains(said, "return code: 0") {
		err = errors.New(shortened(strings.TrimSpace(said)))
	}
	return err
}

// collectorJar is the compiled program: beside the engine's tree where that can be written, for all nodes that share it, else the node's own.
func (e *Engine) collectorJar(ctx context.Context, found tree, with java) (string, error) {
	name := "collector-" + collectorVersion() + ".jar"
	shared, own := filepath.Join(found.folder, name), filepath.Join(e.place.root, "collector-"+found.manifest.Version+"-"+collectorVersion()+".jar")
	for _, path := range []string{shared, own} {
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	content, err := compileCollector(ctx, found, with, filepath.Join(e.place.root, "tmp"))
	if err != nil {
		return "", err
	}
	if err := statefile.Write(shared, content); err == nil {
		return shared, nil
	}
	return own, statefile.Write(own, content)
}

// collectorPackage keeps the classes of different versions apart in one process.
func collectorPackage() string { return "ringmaster.v" + collectorVersion() }

// compileCollector makes the jar in memory. scratch is a folder for files that are removed again.
func compileCollector(ctx context.Context, found tree, with java, scratch string) ([]byte, error) {
	folder, err := os.MkdirTemp(scratch, "collector-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	source := strings.Replace(string(collectorProgram), "package ringmaster;", "package "+collectorPackage()+";", 1)
	program, classes := filepath.Join(folder, "Collector.java"), filepath.Join(folder, "classes")
	if err := os.WriteFile(program, []byte(source), 0o600); err != nil {
		return nil, err
	}
	if _, err := helperOf(ctx, with, "javac", "--release", "17", "-proc:none", "-nowarn", "-d", classes, "-cp", found.classPath(), program); err != nil {
		return nil, err
	}
	var jar strings.Builder
	packed := zip.NewWriter(&jar)
	manifest, err := packed.Create("META-INF/MANIFEST.MF")
	if err != nil {
		return nil, err
	}
	if _, err := io.WriteString(manifest, "Manifest-Version: 1.0\r\nAgent-Class: "+collectorPackage()+".Collector\r\n\r\n"); err != nil {
		return nil, err
	}
	if err := packed.AddFS(os.DirFS(classes)); err != nil {
		return nil, err
	}
	if err := packed.Close(); err != nil {
		return nil, err
	}
	return []byte(jar.String()), nil
}

// helperOf runs a small program of the JDK and returns what it said.
func helperOf(ctx context.Context, with java, name string, arguments ...string) (string, error) {
	arguments = append([]string{"-J-Xmx192m", "-J-XX:+UseSerialGC", "-J-XX:TieredStopAtLevel=1"}, arguments...)
	command := exec.CommandContext(ctx, with.program(name), arguments...)
	// Nothing of what it is set to by others.
	command.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "LC_ALL=C.UTF-8"}
	said, err := command.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", name, err, shortened(strings.TrimSpace(string(said))))
	}
	return string(said), nil
}
