package backup

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"ringmaster/agent"
)

// store keeps objects by name. Its errors are errMissing, those of what it reads from, and *agent.Error with one of the codes
// store-unreachable, store-refused, store-full.
type store interface {
	// put stores size bytes, whole or not at all; what an earlier call stored of the same object is not sent again. A name stands for
	// one content for ever. It reads to the end in any case.
	put(ctx context.Context, name string, size int64, content io.Reader) error
	// size is how long an object is.
	size(ctx context.Context, name string) (int64, error)
	// open reads an object from a place on.
	open(ctx context.Context, name string, from int64) (io.ReadCloser, error)
}

// errMissing: there is no such object.
var errMissing = errors.New("there is no such object")

func unreachable(format string, arguments ...any) error {
	return agent.Errorf("store-unreachable", "The store cannot be reached: "+format, arguments...)
}

func refused(format string, arguments ...any) error {
	return agent.Errorf("store-refused", "The store refuses: "+format, arguments...)
}

func full(format string, arguments ...any) error {
	return agent.Errorf("store-full", "The store is full: "+format, arguments...)
}

var (
	bucketForm = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]$`)
	prefixForm = regexp.MustCompile(`^[A-Za-z0-9_=-][A-Za-z0-9._=-]*(/[A-Za-z0-9_=-][A-Za-z0-9._=-]*)*$`)
)

// openStore makes the store that was described. Error codes: invalid-parameters, store-unreachable, store-refused.
func (s *Service) openStore(described agent.Store) (store, error) {
	if described.Prefix != "" && !prefixForm.MatchString(described.Prefix) {
		return nil, agent.Errorf("invalid-parameters", "store.prefix must be words of letters, digits, dots, hyphens and underscores, with slashes between")
	}
	if described.Kind == agent.FolderStore {
		if !filepath.IsAbs(described.Folder) || filepath.Clean(described.Folder) != described.Folder {
			return nil, agent.Errorf("invalid-parameters", "store.folder must be an absolute path")
		}
		return openFolder(described, s.nodeID)
	}
	if !bucketForm.MatchString(described.Bucket) {
		return nil, agent.Errorf("invalid-parameters", "store.bucket must be the name of a bucket")
	}
	if described.Endpoint != "" {
		parsed, err := url.Parse(described.Endpoint)
		if err != nil || (parsed.Scheme != "https" && parsed.Scheme != "http") || parsed.Host == "" || parsed.User != nil {
			return nil, agent.Errorf("invalid-parameters", "store.endpoint must be a URL that begins with https:// or http://")
		}
	}
	client, err := httpClient(described.CAPEM)
	if err != nil {
		return nil, err
	}
	switch described.Kind {
	case agent.S3Store:
		return s.openS3(described, client)
	case agent.GCSStore:
		return s.openGCS(described, client)
	}
	return nil, agent.Errorf("invalid-parameters", "store.kind must be folder, s3 or gcs")
}

// httpClient trusts the authorities given besides the machine's own. It gives up on a server that is silent for a minute.
func httpClient(authorities string) (*http.Client, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.ResponseHeaderTimeout, transport.MaxIdleConnsPerHost, transport.IdleConnTimeout = time.Minute, 32, time.Minute
	if authorities != "" {
		trusted, err := x509.SystemCertPool()
		if err != nil {
			trusted = x509.NewCertPool()
		}
		if !trusted.AppendCertsFromPEM([]byte(authorities)) {
			return nil, agent.Errorf("invalid-parameters", "store.ca_pem holds no certificate")
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS12}
	}
	return &http.Client{Transport: transport}, nil
}

// statusError is what an answer with an error of a store over HTTP means.
func statusError(status int, code, message string) error {
	said := fmt.Sprintf("%d %s %s", status, code, message)
	said = strings.TrimSpace(said[:min(len(said), 300)])
	switch {
	case status == http.StatusInsufficientStorage || strings.Contains(code, "StorageFull") || strings.Contains(code, "QuotaExceeded"):
		return full("%s", said)
	case status == http.StatusTooManyRequests || status == http.StatusRequestTimeout || status >= 500 || code == "RequestTimeout" ||
		code == "RequestTimeTooSkewed":
		return unreachable("%s", said)
	}
	return refused("%s", said)
}

// lineError is a failure of the line to a store; one that was told to end is that.
func lineError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return unreachable("%v", err)
}

func joinName(prefix, name string) string { return path.Join(prefix, name) }

// steady reads an object to its end although the line breaks now and then.
type steady struct {
	ctx    context.Context
	from   store
	name   string
	at     int64
	line   io.ReadCloser
	broken int
}

// mostBreaks in a row, without a byte between them.
const mostBreaks = 4

func (s *steady) Read(into []byte) (int, error) {
	for {
		if s.line == nil {
			line, err := s.from.open(s.ctx, s.name, s.at)
			if err != nil {
				return 0, err
			}
			s.line = line
		}
		count, err := s.line.Read(into)
		s.at += int64(count)
		if count > 0 {
			s.broken = 0
			return count, nil
		}
		if err == nil || errors.Is(err, io.EOF) {
			return 0, err
		}
		s.Close()
		if s.broken++; s.broken > mostBreaks || s.ctx.Err() != nil {
			return 0, lineError(s.ctx, err)
		}
		if err := pause(s.ctx, time.Duration(s.broken)*250*time.Millisecond); err != nil {
			return 0, err
		}
	}
}

func (s *steady) Close() {
	if s.line != nil {
		_ = s.line.Close()
		s.line = nil
	}
}

func pause(ctx context.Context, duration time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(duration):
		return nil
	}
}
