// Package identity keeps who this machine is: its keys, made here and never sent anywhere, and the certificates that the
// control plane made for them. Every file is the owner's only.
package identity

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"ringmaster/agent"
	"ringmaster/agent/statefile"
)

// The common names of the clients that an agent serves: the control plane, and who gathers metrics, for those alone.
const (
	ControlPlane = "control-plane"
	Prometheus   = "prometheus"
)

// Identity is the folder of keys and certificates.
type Identity struct {
	folder  string
	nodeID  string
	address net.IP

	mu      sync.RWMutex
	serving *tls.Certificate

	// engineMu is held by whoever looks at or replaces the engine's files.
	engineMu sync.Mutex
}

// Open makes or reads the folder. It holds certificates only after Accept.
func Open(folder, nodeID, address string) (*Identity, error) {
	ip := net.ParseIP(address)
	if ip == nil {
		return nil, fmt.Errorf("%q is not an IP address", address)
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	i := &Identity{folder: folder, nodeID: nodeID, address: ip}
	if i.Enrolled() {
		if err := i.load(); err != nil {
			return nil, err
		}
	}
	return i, nil
}

// Enrolled tells whether the certificates are there. The last file that Accept writes decides.
func (i *Identity) Enrolled() bool {
	_, err := os.Stat(i.agentPEM())
	return err == nil
}

// EnginePEM is the engine's key with its certificate, EngineAuthorityPEM its cluster's authority.
func (i *Identity) EnginePEM() string          { return filepath.Join(i.folder, "engine.pem") }
func (i *Identity) EngineAuthorityPEM() string { return filepath.Join(i.folder, "cluster-ca.pem") }
func (i *Identity) agentPEM() string           { return filepath.Join(i.folder, "agent.pem") }
func (i *Identity) agentAuthorityPEM() string  { return filepath.Join(i.folder, "agent-ca.pem") }

// Requests are the signing requests for agent and engine. They are made once: asking again gives the same.
func (i *Identity) Requests() (agentCSR, engineCSR string, err error) {
	if agentCSR, err = i.request("agent"); err != nil {
		return "", "", err
	}
	engineCSR, err = i.request("engine")
	return agentCSR, engineCSR, err
}

// Issued is what the control plane gives for the requests, all PEM.
type Issued struct {
	AgentCertificate  string `json:"agent_certificate"`
	AgentCA           string `json:"agent_ca"`
	EngineCertificate string `json:"engine_certificate"`
	ClusterCA         string `json:"cluster_ca"`
}

// Accept checks that the certificates are for our keys and of the authorities they come with, and stores them.
func (i *Identity) Accept(issued Issued) error {
	agentPEM, err := i.joined("agent", issued.AgentCertificate, issued.AgentCA)
	if err != nil {
		return err
	}
	enginePEM, err := i.joined("engine", issued.EngineCertificate, issued.ClusterCA)
	if err != nil {
		return err
	}
	for _, file := range []struct {
		path    string
		content []byte
	}{
		{i.agentAuthorityPEM(), []byte(issued.AgentCA)},
		{i.EngineAuthorityPEM(), []byte(issued.ClusterCA)},
		{i.EnginePEM(), enginePEM},
		{i.agentPEM(), agentPEM},
	} {
		if err := statefile.Write(file.path, file.content); err != nil {
			return err
		}
	}
	return i.load()
}

// ServerConfig is TLS 1.3 only, for the control plane only, with whatever certificate is the newest.
func (i *Identity) ServerConfig() (*tls.Config, error) {
	authority, err := os.ReadFile(i.agentAuthorityPEM())
	if err != nil {
		return nil, err
	}
	clients := x509.NewCertPool()
	if !clients.AppendCertsFromPEM(authority) {
		return nil, errors.New("the agents' authority is no certificate")
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS13,
		ClientAuth: tls.RequireAndVerifyClientCert,
		ClientCAs:  clients,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			i.mu.RLock()
			defer i.mu.RUnlock()
			return i.serving, nil
		},
		VerifyConnection: func(state tls.ConnectionState) error {
			// Agents have certificates of the same authority; they must not command each other.
			if name := state.PeerCertificates[0].Subject.CommonName; name != ControlPlane && name != Prometheus {
				return fmt.Errorf("%q is not the control plane", name)
			}
			return nil
		},
	}, nil
}

// MetricsPath is all that is served to Prometheus.
const MetricsPath = "/metrics"

// Guard lets through to the API whom ServerConfig let in, each to what is theirs.
func Guard(api http.Handler) http.Handler {
	return http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		switch caller(request) {
		case ControlPlane:
			api.ServeHTTP(response, request)
			return
		case Prometheus:
			if request.Method == http.MethodGet && request.URL.Path == MetricsPath {
				api.ServeHTTP(response, request)
				return
			}
		}
		response.Header().Set("Content-Type", "application/json")
		response.WriteHeader(http.StatusForbidden)
		_ = json.NewEncoder(response).Encode(agent.ErrorBody{Error: agent.Errorf("forbidden", "This certificate is for GET %s only.", MetricsPath)})
	})
}

// caller is empty without a certificate.
func caller(request *http.Request) string {
	if request.TLS == nil || len(request.TLS.PeerCertificates) == 0 {
		return ""
	}
	return request.TLS.PeerCertificates[0].Subject.CommonName
}

// Certificate is the one that is served.
func (i *Identity) Certificate() (agent.Certificate, error) {
	i.mu.RLock()
	defer i.mu.RUnlock()
	if i.serving == nil {
		return agent.Certificate{}, errors.New("not enrolled yet")
	}
	leaf := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: i.serving.Certificate[0]})
	return agent.Certificate{Certificate: string(leaf), NotAfter: i.serving.Leaf.NotAfter.UTC()}, nil
}

// RequestRenewal makes a new key and keeps it aside; asking again gives the same request until Renew has used it.
func (i *Identity) RequestRenewal() (string, error) { return i.request("agent-next") }

// Renew takes the certificate for the key kept aside; from the next connection on it is served.
// Error codes: no-renewal, certificate-refused.
func (i *Identity) Renew(certificate string) error {
	if _, err := os.Stat(i.path("agent-next", "key")); errors.Is(err, fs.ErrNotExist) {
		return agent.Errorf("no-renewal", "No renewal was asked for: POST /v1/certificate/request first.")
	}
	authority, err := os.ReadFile(i.agentAuthorityPEM())
	if err != nil {
		return err
	}
	renewed, err := i.joined("agent-next", certificate, string(authority))
	if err != nil {
		return agent.Errorf("certificate-refused", "%v", err)
	}
	if err := statefile.Write(i.agentPEM(), renewed); err != nil {
		return err
	}
	for _, ending := range []string{"key", "csr"} {
		if err := os.Remove(i.path("agent-next", ending)); err != nil {
			return err
		}
	}
	return i.load()
}

func (i *Identity) load() error {
	content, err := os.ReadFile(i.agentPEM())
	if err != nil {
		return err
	}
	serving, err := tls.X509KeyPair(content, content)
	if err != nil {
		return fmt.Errorf("agent's certificate: %w", err)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.serving = &serving
	return nil
}

func (i *Identity) path(name, ending string) string {
	return filepath.Join(i.folder, name+"."+ending)
}

// request returns the signing request kept under a name, or makes key and request.
func (i *Identity) request(name string) (string, error) {
	kept, err := os.ReadFile(i.path(name, "csr"))
	if err == nil {
		return string(kept), nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", err
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return "", err
	}
	request, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
		Subject:     pkix.Name{CommonName: i.nodeID},
		DNSNames:    []string{DNSName(i.nodeID)},
		IPAddresses: []net.IP{i.address},
	}, key)
	if err != nil {
		return "", err
	}
	// The key first: a request without its key would be answered in vain.
	if err := statefile.Write(i.path(name, "key"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded})); err != nil {
		return "", err
	}
	csr := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: request})
	return string(csr), statefile.Write(i.path(name, "csr"), csr)
}

// DNSName is the name in an agent's certificate. Ids may hold underscores, host names may not.
func DNSName(nodeID string) string {
	return strings.ReplaceAll(nodeID, "_", "-") + ".nodes.ringmaster.internal"
}

// joined is the key kept under a name and its certificate in one PEM, once the certificate is found to be for it.
func (i *Identity) joined(name, certificate, authority string) ([]byte, error) {
	key, err := os.ReadFile(i.path(name, "key"))
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair([]byte(certificate), key)
	if err != nil {
		return nil, fmt.Errorf("the certificate for %s: %w", name, err)
	}
	if pair.Leaf.Subject.CommonName != i.nodeID {
		return nil, fmt.Errorf("the certificate for %s names %q, not this node", name, pair.Leaf.Subject.CommonName)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(authority)) {
		return nil, fmt.Errorf("the authority for %s is no certificate", name)
	}
	if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}); err != nil {
		return nil, fmt.Errorf("the certificate for %s: %w", name, err)
	}
	return append(key, certificate...), nil
}
