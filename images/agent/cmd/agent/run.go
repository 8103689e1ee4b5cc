package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"ringmaster/agent"
	"ringmaster/agent/cmd/agent/machine"
	"ringmaster/agent/enrol"
	"ringmaster/agent/httpapi"
	"ringmaster/agent/identity"
	"ringmaster/agent/jobs"
	"ringmaster/agent/statements"
	"ringmaster/agent/tracing"
)

// run is the whole life of an agent: enrol, go on with what an earlier one left, serve until told to end.
func run(ctx context.Context, chosen options, log *slog.Logger) error {
	started := time.Now().UTC()
	if err := os.MkdirAll(chosen.stateDir, 0o700); err != nil {
		return err
	}
	alone, err := lock(chosen.stateDir)
	if err != nil {
		return err
	}
	defer alone.Close()
	joined, err := open(chosen, log)
	if err != nil {
		return err
	}
	node := machine.New(chosen.stateDir, chosen.data, version, joined.engine.Status)
	if node.EngineCPUs, err = node.EnginePins(); err != nil {
		log.Warn("the engine is not confined to CPUs of its own", "error", err)
	}
	joined.engine.RunOn(node.EngineCPUs)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	failed := make(chan error, 2)
	watching := make(chan struct{})
	go func() {
		defer close(watching)
		// The engine is seen to before and without the control plane: after a power loss it must come back by itself.
		if err := joined.engine.Run(ctx); err != nil {
			failed <- fmt.Errorf("watch the engine: %w", err)
		}
	}()
	if err := enrol.Until(ctx, chosen.data, joined.identity, log); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	spans := tracing.New()
	store, err := jobs.Open(ctx, filepath.Join(chosen.stateDir, "jobs"), spans.Jobs(node.Doer(joined.engine)), log)
	if err != nil {
		return err
	}
	api := &httpapi.API{
		NodeID: chosen.data.NodeID, Agent: agent.AgentStatus{Version: version, StartedAt: started}, Engine: joined.engine,
		Jobs: store, Certificates: joined.identity, EngineCertificates: joined.identity.Engine(), Machine: node,
		Statements: statements.New(ctx, joined.engine, log), Log: log,
	}
	if snapshots, has := joined.engine.(httpapi.Snapshots); has {
		api.Snapshots = snapshots
	}
	if archive, has := joined.engine.(httpapi.Archive); has {
		api.Archive = archive
	}
	if api.Metrics, err = metricsOf(chosen, joined, node, log); err != nil {
		return err
	}
	security, err := joined.identity.ServerConfig()
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", chosen.data.Listen)
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler: identity.Guard(spans.Handler(api.Handler())), TLSConfig: security, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second,
		WriteTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	go func() {
		if err := server.ServeTLS(listener, "", ""); !errors.Is(err, http.ErrServerClosed) {
			failed <- err
		}
	}()
	log.Info("serving", "node_id", chosen.data.NodeID, "listen", listener.Addr().String(), "version", version)
	select {
	case <-ctx.Done():
		err = nil
	case err = <-failed:
	}
	stop()
	closing, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	_ = server.Shutdown(closing)
	store.Close()
	<-watching
	log.Info("ended; the engine is left as it is")
	return err
}

// lock keeps a second agent from the same state. It ends with the process, however that ends.
func lock(folder string) (*os.File, error) {
	file, err := os.OpenFile(filepath.Join(folder, "agent.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("another agent runs with the state in %s", folder)
	}
	return file, nil
}
