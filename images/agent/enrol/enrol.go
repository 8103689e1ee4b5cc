// Package enrol makes the first contact: with the one-time token the machine was told, it gets its certificates.
package enrol

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	"ringmaster/agent"
	"ringmaster/agent/identity"
)

// Request is the body of the one POST. Repeated, it is the same to the last byte, so a lost reply costs nothing.
type Request struct {
	NodeID    string `json:"node_id"`
	Token     string `json:"token"`
	AgentCSR  string `json:"agent_csr"`
	EngineCSR string `json:"engine_csr"`
}

// Pauses between tries: short at first, because everybody waits for this, then less and less often.
const (
	firstPause   = 100 * time.Millisecond
	longestPause = 15 * time.Second
	maxAnswer    = 1 << 20
)

// Until tries until the identity holds certificates or ctx ends. Every failure is logged and tried again: an agent that
// gave up would be a machine that nobody can reach.
func Until(ctx context.Context, data agent.UserData, self *identity.Identity, log *slog.Logger) error {
	if self.Enrolled() {
		return nil
	}
	client, err := client(data.CAPEM)
	if err != nil {
		return err
	}
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		err := once(ctx, client, data, self)
		if err == nil {
			log.Info("enrolled", "node_id", data.NodeID)
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		log.Warn("not enrolled yet", "error", err, "again_in", pause.String())
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

func client(authority string) (*http.Client, error) {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(authority)) {
		return nil, errors.New("ca_pem in the user data holds no certificate")
	}
	return &http.Client{
		Timeout:       10 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return errors.New("enrolment is never redirected") },
		Transport: &http.Transport{
			TLSClientConfig:   &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
			DisableKeepAlives: true,
			// No proxy: the token must reach the control plane and nobody else.
			Proxy: nil,
		},
	}, nil
}

func once(ctx context.Context, client *http.Client, data agent.UserData, self *identity.Identity) error {
	agentCSR, engineCSR, err := self.Requests()
	if err != nil {
		return err
	}
	body, err := json.Marshal(Request{NodeID: data.NodeID, Token: data.Token, AgentCSR: agentCSR, EngineCSR: engineCSR})
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, data.EnrolURL, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	answer, err := client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	content, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("the control plane answered %d: %.300s", answer.StatusCode, content)
	}
	var issued identity.Issued
	if err := json.Unmarshal(content, &issued); err != nil {
		return fmt.Errorf("the control plane's answer: %w", err)
	}
	return self.Accept(issued)
}
