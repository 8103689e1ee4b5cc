// Package agenttest holds what tests of an agent need around it: certificate authorities and a control plane that enrols.
package agenttest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"ringmaster/agent/enrol"
	"ringmaster/agent/identity"
)

// Authority is a certificate authority of a test's own.
type Authority struct {
	t           testing.TB
	key         *ecdsa.PrivateKey
	certificate *x509.Certificate
	PEM         string
}

// NewAuthority makes one.
func NewAuthority(t testing.TB, name string) *Authority {
	t.Helper()
	key := newKey(t)
	template := template(name, 24*time.Hour)
	template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
	encoded, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	must(t, err)
	certificate, err := x509.ParseCertificate(encoded)
	must(t, err)
	return &Authority{t: t, key: key, certificate: certificate, PEM: asPEM("CERTIFICATE", encoded)}
}

// Sign answers a PEM signing request under a common name.
func (a *Authority) Sign(request, commonName string, lifetime time.Duration) string {
	a.t.Helper()
	block, _ := pem.Decode([]byte(request))
	if block == nil {
		a.t.Fatal("no PEM signing request")
	}
	asked, err := x509.ParseCertificateRequest(block.Bytes)
	must(a.t, err)
	return asPEM("CERTIFICATE", a.sign(asked.PublicKey, commonName, lifetime, asked.DNSNames, asked.IPAddresses))
}

// Pair makes a key with its certificate, for client and server use, at 127.0.0.1.
func (a *Authority) Pair(commonName string) tls.Certificate {
	a.t.Helper()
	key := newKey(a.t)
	encoded := a.sign(&key.PublicKey, commonName, time.Hour, nil, []net.IP{net.IPv4(127, 0, 0, 1)})
	return tls.Certificate{Certificate: [][]byte{encoded}, PrivateKey: key}
}

// Pool trusts this authority only.
func (a *Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.certificate)
	return pool
}

func (a *Authority) sign(key any, commonName string, lifetime time.Duration, names []string, addresses []net.IP) []byte {
	template := template(commonName, lifetime)
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	template.DNSNames, template.IPAddresses = names, addresses
	encoded, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key, a.key)
	must(a.t, err)
	return encoded
}

func template(commonName string, lifetime time.Duration) *x509.Certificate {
	serial, _ := rand.Int(rand.Reader, big.NewInt(1<<62))
	return &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: commonName},
		NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(lifetime),
	}
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	return key
}

func asPEM(label string, content []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: label, Bytes: content}))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// ControlPlane enrols agents, as the real one does: one token per node, the same answer to the same request.
type ControlPlane struct {
	URL             string
	Agents, Cluster *Authority
	Token           string

	// LoseReplies is how many answers are made and not delivered.
	LoseReplies int
	// RedirectTo sends everybody elsewhere.
	RedirectTo string

	mu       sync.Mutex
	requests []enrol.Request
}

// NewControlPlane serves until the test ends.
func NewControlPlane(t testing.TB) *ControlPlane {
	t.Helper()
	plane := &ControlPlane{Agents: NewAuthority(t, "agents"), Cluster: NewAuthority(t, "cluster"), Token: "one-time"}
	server := httptest.NewUnstartedServer(http.HandlerFunc(plane.enrol))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{plane.Agents.Pair("enrolment")}}
	server.StartTLS()
	t.Cleanup(server.Close)
	plane.URL = server.URL + "/enrol/v1"
	return plane
}

// Requests are those that came, in order.
func (p *ControlPlane) Requests() []enrol.Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]enrol.Request(nil), p.requests...)
}

func (p *ControlPlane) enrol(response http.ResponseWriter, request *http.Request) {
	if p.RedirectTo != "" {
		http.Redirect(response, request, p.RedirectTo, http.StatusTemporaryRedirect)
		return
	}
	var asked enrol.Request
	if err := json.NewDecoder(request.Body).Decode(&asked); err != nil || asked.Token != p.Token {
		http.Error(response, `{"error":{"code":"enrolment_refused","message":"wrong token"}}`, http.StatusForbidden)
		return
	}
	p.mu.Lock()
	p.requests = append(p.requests, asked)
	lost := len(p.requests) <= p.LoseReplies
	p.mu.Unlock()
	issued := identity.Issued{
		AgentCertificate: p.Agents.Sign(asked.AgentCSR, asked.NodeID, time.Hour), AgentCA: p.Agents.PEM,
		EngineCertificate: p.Cluster.Sign(asked.EngineCSR, asked.NodeID, time.Hour), ClusterCA: p.Cluster.PEM,
	}
	if lost {
		panic(http.ErrAbortHandler)
	}
	_ = json.NewEncoder(response).Encode(issued)
}
