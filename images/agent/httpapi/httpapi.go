// Package httpapi serves an agent's API; see docs/agent-api.md.
package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"ringmaster/agent"
)

const (
	maxBody = 256 << 10
	maxWait = 5 * time.Second
)

// Jobs are the named jobs. Errors are *agent.Error.
type Jobs interface {
	Put(ctx context.Context, name string, request agent.JobRequest) (agent.Job, error)
	Get(ctx context.Context, name string, wait time.Duration) (agent.Job, error)
	Delete(name string) error
	List() []agent.Job
}

// Certificates are those the agent serves with. Errors are *agent.Error.
type Certificates interface {
	Certificate() (agent.Certificate, error)
	RequestRenewal() (string, error)
	Renew(certificate string) error
}

// EngineCertificates are those the engine uses. Errors are *agent.Error.
type EngineCertificates interface {
	Certificate() (agent.Certificate, error)
	RequestRenewal() (string, error)
	Renew(certificate, authorities string) error
}

// Machine is what the node runs on.
type Machine interface {
	Tuning(ctx context.Context) (agent.TuningReport, error)
}

// Snapshots are those that were indexed. Errors are *agent.Error.
type Snapshots interface {
	Bundles(tag, after string, limit int) (agent.BundlePage, error)
}

// Archive is that of the engine's commit log.
type Archive interface {
	Archived(after int64) (agent.ArchiveReport, error)
}

// Statements are those of people. Errors are *agent.Error.
type Statements interface {
	Put(name string, request agent.StatementRequest) error
	Get(ctx context.Context, name string, wait time.Duration) (agent.Statement, error)
	Delete(name string)
}

// API joins what is served.
type API struct {
	NodeID       string
	Agent        agent.AgentStatus
	Engine       agent.Engine
	Jobs         Jobs
	Certificates Certificates
	// EngineCertificates are renewed as the agent's own are, and come with the authorities that the engine trusts.
	EngineCertificates EngineCertificates
	Machine            Machine
	// Snapshots are nil with an engine that has none.
	Snapshots Snapshots
	// Archive is nil with an engine whose log cannot be archived.
	Archive    Archive
	Statements Statements
	// Metrics answers GET /metrics in a form of its own.
	Metrics http.Handler
	Log     *slog.Logger
}

// Handler routes the API. Who may call what is decided before it.
func (a *API) Handler() http.Handler {
	routes := http.NewServeMux()
	routes.Handle("GET /metrics", a.Metrics)
	routes.HandleFunc("GET /v1/status", a.answer(a.status))
	routes.HandleFunc("GET /v1/tuning", a.answer(a.tuning))
	routes.HandleFunc("GET /v1/repairs", a.answer(a.repairs))
	routes.HandleFunc("GET /v1/load", a.answer(a.load))
	routes.HandleFunc("GET /v1/ring", a.answer(a.keyspaceRing))
	routes.HandleFunc("GET /v1/tables", a.answer(a.tables))
	routes.HandleFunc("PUT /v1/config", a.answer(a.putConfig))
	routes.HandleFunc("GET /v1/jobs", a.answer(a.listJobs))
	routes.HandleFunc("PUT /v1/jobs/{name}", a.answer(a.putJob))
	routes.HandleFunc("GET /v1/jobs/{name}", a.answer(a.getJob))
	routes.HandleFunc("DELETE /v1/jobs/{name}", a.answer(a.deleteJob))
	routes.HandleFunc("GET /v1/snapshots/{tag}/bundles", a.answer(a.bundles))
	routes.HandleFunc("GET /v1/archive", a.answer(a.archive))
	routes.HandleFunc("PUT /v1/statements/{name}", a.answer(a.putStatement))
	routes.HandleFunc("GET /v1/statements/{name}", a.answer(a.getStatement))
	routes.HandleFunc("DELETE /v1/statements/{name}", a.answer(a.deleteStatement))
	routes.HandleFunc("GET /v1/certificate", a.answer(a.getCertificate))
	routes.HandleFunc("POST /v1/certificate/request", a.answer(a.requestCertificate))
	routes.HandleFunc("PUT /v1/certificate", a.answer(a.putCertificate))
	routes.HandleFunc("GET /v1/engine-certificate", a.answer(a.getEngineCertificate))
	routes.HandleFunc("POST /v1/engine-certificate/request", a.answer(a.requestEngineCertificate))
	routes.HandleFunc("PUT /v1/engine-certificate", a.answer(a.putEngineCertificate))
	return http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		if _, pattern := routes.Handler(request); pattern == "" {
			a.unrouted(routes, response, request)
			return
		}
		routes.ServeHTTP(response, request)
	})
}

// unrouted answers what no route takes, in the one form of errors.
func (a *API) unrouted(routes *http.ServeMux, response http.ResponseWriter, request *http.Request) {
	for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodPost, http.MethodDelete} {
		other := request.Clone(request.Context())
		other.Method = method
		if _, pattern := routes.Handler(other); pattern != "" {
			a.write(response, http.StatusMethodNotAllowed, agent.ErrorBody{Error: agent.Errorf("method-not-allowed", "%s is not possible here.", request.Method)})
			return
		}
	}
	a.write(response, http.StatusNotFound, agent.ErrorBody{Error: agent.Errorf("not-found", "There is nothing at this path.")})
}

func (a *API) answer(do func(*http.Request) (any, error)) http.HandlerFunc {
	return func(response http.ResponseWriter, request *http.Request) {
		request.Body = http.MaxBytesReader(response, request.Body, maxBody)
		body, err := do(request)
		if err != nil {
			coded := agent.AsError(err)
			status := statusOf(coded.Code)
			if status == http.StatusInternalServerError {
				a.Log.Error("request failed", "method", request.Method, "path", request.URL.Path, "error", err)
			}
			a.write(response, status, agent.ErrorBody{Error: coded})
			return
		}
		if body == nil {
			response.WriteHeader(http.StatusNoContent)
			return
		}
		a.write(response, http.StatusOK, body)
	}
}

func statusOf(code string) int {
	switch code {
	case "job-not-found", "unknown-keyspace", "snapshot-not-found", "statement-not-found":
		return http.StatusNotFound
	case "engine-not-running", "management-unreachable", "control-unknown", "ring-changing", "too-many-statements":
		return http.StatusServiceUnavailable
	case "job-differs", "identity-fixed", "no-renewal", "snapshot-not-indexed":
		return http.StatusConflict
	case "body-too-large":
		return http.StatusRequestEntityTooLarge
	case "invalid-body", "invalid-name", "unknown-kind", "invalid-wait", "invalid-page", "invalid-parameters", "invalid-config", "setting-not-allowed",
		"certificate-refused", "not-supported":
		return http.StatusBadRequest
	}
	return http.StatusInternalServerError
}

func (a *API) write(response http.ResponseWriter, status int, body any) {
	content, err := json.Marshal(body)
	if err != nil {
		a.Log.Error("cannot write an answer", "error", err)
		response.WriteHeader(http.StatusInternalServerError)
		return
	}
	response.Header().Set("Content-Type", "application/json")
	response.Header().Set("Cache-Control", "no-store")
	response.WriteHeader(status)
	_, _ = response.Write(append(content, '\n'))
}

func (a *API) status(request *http.Request) (any, error) {
	return agent.Status{
		Time: time.Now().UTC().Truncate(time.Millisecond), Agent: a.Agent, NodeID: a.NodeID,
		Engine: a.Engine.Status(request.Context()), MachineStatus: a.Engine.Machine(request.Context()),
		Ring: a.Engine.Ring(request.Context()),
	}, nil
}

func (a *API) tuning(request *http.Request) (any, error) { return a.Machine.Tuning(request.Context()) }

func (a *API) repairs(request *http.Request) (any, error) { return a.Engine.Repairs(request.Context()) }

func (a *API) load(request *http.Request) (any, error) { return a.Engine.Load(request.Context()) }

func (a *API) keyspaceRing(request *http.Request) (any, error) {
	return a.Engine.KeyspaceRing(request.Context(), request.URL.Query().Get("keyspace"), request.URL.Query().Get("table"))
}

func (a *API) tables(request *http.Request) (any, error) { return a.Engine.Tables(request.Context()) }

func (a *API) putConfig(request *http.Request) (any, error) {
	document, err := readAll(request)
	if err != nil {
		return nil, err
	}
	return nil, a.Engine.Configure(document)
}

func (a *API) listJobs(*http.Request) (any, error) { return agent.JobList{Items: a.Jobs.List()}, nil }

func (a *API) putJob(request *http.Request) (any, error) {
	wait, err := waitOf(request)
	if err != nil {
		return nil, err
	}
	var body agent.JobRequest
	if err := read(request, &body); err != nil {
		return nil, err
	}
	job, err := a.Jobs.Put(request.Context(), request.PathValue("name"), body)
	if err != nil || wait == 0 {
		return job, err
	}
	return a.Jobs.Get(request.Context(), job.Name, wait)
}

func (a *API) getJob(request *http.Request) (any, error) {
	wait, err := waitOf(request)
	if err != nil {
		return nil, err
	}
	return a.Jobs.Get(request.Context(), request.PathValue("name"), wait)
}

func (a *API) deleteJob(request *http.Request) (any, error) {
	return nil, a.Jobs.Delete(request.PathValue("name"))
}

func (a *API) putStatement(request *http.Request) (any, error) {
	wait, err := waitOf(request)
	if err != nil {
		return nil, err
	}
	var body agent.StatementRequest
	if err := read(request, &body); err != nil {
		return nil, err
	}
	name := request.PathValue("name")
	if err := a.Statements.Put(name, body); err != nil {
		return nil, err
	}
	return a.Statements.Get(request.Context(), name, wait)
}

func (a *API) getStatement(request *http.Request) (any, error) {
	wait, err := waitOf(request)
	if err != nil {
		return nil, err
	}
	return a.Statements.Get(request.Context(), request.PathValue("name"), wait)
}

func (a *API) deleteStatement(request *http.Request) (any, error) {
	a.Statements.Delete(request.PathValue("name"))
	return nil, nil
}

func (a *API) bundles(request *http.Request) (any, error) {
	if a.Snapshots == nil {
		return nil, agent.Errorf("not-supported", "The agent does not index snapshots of this engine.")
	}
	limit := 1000
	if text := request.URL.Query().Get("limit"); text != "" {
		var err error
		if limit, err = strconv.Atoi(text); err != nil {
			return nil, agent.Errorf("invalid-page", "limit must be a number.")
		}
	}
	return a.Snapshots.Bundles(request.PathValue("tag"), request.URL.Query().Get("after"), limit)
}

func (a *API) archive(request *http.Request) (any, error) {
	if a.Archive == nil {
		return nil, agent.Errorf("not-supported", "The agent does not archive the log of this engine.")
	}
	var after int64
	if text := request.URL.Query().Get("after"); text != "" {
		var err error
		if after, err = strconv.ParseInt(text, 10, 64); err != nil || after < 0 {
			return nil, agent.Errorf("invalid-page", "after must be a number.")
		}
	}
	return a.Archive.Archived(after)
}

func (a *API) getCertificate(*http.Request) (any, error) { return a.Certificates.Certificate() }

func (a *API) requestCertificate(*http.Request) (any, error) {
	csr, err := a.Certificates.RequestRenewal()
	return agent.CertificateRequest{CSR: csr}, err
}

func (a *API) putCertificate(request *http.Request) (any, error) {
	var body agent.NewCertificate
	if err := read(request, &body); err != nil {
		return nil, err
	}
	return nil, a.Certificates.Renew(body.Certificate)
}

func (a *API) getEngineCertificate(*http.Request) (any, error) {
	return a.EngineCertificates.Certificate()
}

func (a *API) requestEngineCertificate(*http.Request) (any, error) {
	csr, err := a.EngineCertificates.RequestRenewal()
	return agent.CertificateRequest{CSR: csr}, err
}

func (a *API) putEngineCertificate(request *http.Request) (any, error) {
	var body agent.NewEngineCertificate
	if err := read(request, &body); err != nil {
		return nil, err
	}
	return nil, a.EngineCertificates.Renew(body.Certificate, body.CA)
}

func waitOf(request *http.Request) (time.Duration, error) {
	text := request.URL.Query().Get("wait")
	if text == "" {
		return 0, nil
	}
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil || !(seconds >= 0 && seconds <= maxWait.Seconds()) {
		return 0, agent.Errorf("invalid-wait", "wait must be a number of seconds between 0 and %g.", maxWait.Seconds())
	}
	return time.Duration(seconds * float64(time.Second)), nil
}

func read(request *http.Request, into any) error {
	content, err := readAll(request)
	if err != nil {
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return agent.Errorf("invalid-body", "The body cannot be read: %v.", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return agent.Errorf("invalid-body", "Something follows the JSON value in the body.")
	}
	return nil
}

func readAll(request *http.Request) ([]byte, error) {
	content, err := io.ReadAll(request.Body)
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return nil, agent.Errorf("body-too-large", "A body may have %d bytes.", tooLarge.Limit)
	}
	if err != nil {
		return nil, agent.Errorf("invalid-body", "The body cannot be read: %v.", err)
	}
	return content, nil
}
