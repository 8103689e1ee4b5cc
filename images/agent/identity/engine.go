package identity

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"ringmaster/agent"
	"ringmaster/agent/statefile"
)

// EngineIdentity is the engine's key, certificate and authorities on this machine; they may be replaced while it runs.
type EngineIdentity struct{ of *Identity }

// Engine is the part of the identity that is the engine's.
func (i *Identity) Engine() EngineIdentity { return EngineIdentity{i} }

// FormerEngineCertificate holds the certificate that was replaced last, until the engine was seen to use the new one.
func (i *Identity) FormerEngineCertificate() string {
	return filepath.Join(i.folder, "engine-former.pem")
}

// Certificate is the one in the engine's file. The engine itself shows it once it was started or told to reload.
func (e EngineIdentity) Certificate() (agent.Certificate, error) {
	e.of.engineMu.Lock()
	defer e.of.engineMu.Unlock()
	content, err := os.ReadFile(e.of.EnginePEM())
	if err != nil {
		return agent.Certificate{}, err
	}
	own := onlyCertificates(content)
	leaf, err := firstCertificate(own)
	if err != nil {
		return agent.Certificate{}, fmt.Errorf("%s: %w", e.of.EnginePEM(), err)
	}
	return agent.Certificate{Certificate: string(own), NotAfter: leaf.NotAfter.UTC()}, nil
}

// RequestRenewal makes a new key and keeps it aside; asking again gives the same request until Renew has used it.
func (e EngineIdentity) RequestRenewal() (string, error) {
	e.of.engineMu.Lock()
	defer e.of.engineMu.Unlock()
	return e.of.request("engine-next")
}

// Renew takes the certificate for the key kept aside, and the authorities that the engine shall trust from now on. Both
// are checked before either file is replaced, each file is replaced as a whole, and a call that was cut off between them
// is completed by the same call; it is also answered well when it was completed. Error codes: no-renewal,
// certificate-refused.
func (e EngineIdentity) Renew(certificate, authorities string) error {
	e.of.engineMu.Lock()
	defer e.of.engineMu.Unlock()
	if err := checkAuthorities(authorities); err != nil {
		return agent.Errorf("certificate-refused", "%v", err)
	}
	current, err := os.ReadFile(e.of.EnginePEM())
	if err != nil {
		return err
	}
	if _, err := os.Stat(e.of.path("engine-next", "key")); errors.Is(err, fs.ErrNotExist) {
		if !bytes.Equal(bytes.TrimSpace(onlyCertificates(current)), bytes.TrimSpace(onlyCertificates([]byte(certificate)))) {
			return agent.Errorf("no-renewal", "No renewal was asked for: POST /v1/engine-certificate/request first.")
		}
		return e.replaceAuthorities(current, authorities)
	}
	renewed, err := e.of.joined("engine-next", certificate, authorities)
	if err != nil {
		return agent.Errorf("certificate-refused", "%v", err)
	}
	if !bytes.Equal(current, renewed) {
		if err := statefile.Write(e.of.FormerEngineCertificate(), onlyCertificates(current)); err != nil {
			return err
		}
	}
	// The authorities first: a node that trusts too many is reached by all others, one that shows a certificate of an
	// authority it does not trust itself is not.
	if err := statefile.Write(e.of.EngineAuthorityPEM(), []byte(authorities)); err != nil {
		return err
	}
	if err := statefile.Write(e.of.EnginePEM(), renewed); err != nil {
		return err
	}
	for _, ending := range []string{"csr", "key"} {
		if err := os.Remove(e.of.path("engine-next", ending)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// replaceAuthorities is Renew for the certificate that is there already: only whom the engine trusts may differ.
func (e EngineIdentity) replaceAuthorities(current []byte, authorities string) error {
	leaf, err := firstCertificate(onlyCertificates(current))
	if err != nil {
		return err
	}
	if err := verified(leaf, authorities); err != nil {
		return agent.Errorf("certificate-refused", "%v", err)
	}
	return statefile.Write(e.of.EngineAuthorityPEM(), []byte(authorities))
}

func verified(leaf *x509.Certificate, authorities string) error {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(authorities))
	_, err := leaf.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	return err
}

// checkAuthorities wants nothing but certificates of authorities that are in force.
func checkAuthorities(text string) error {
	count := 0
	rest := []byte(text)
	for {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			return fmt.Errorf("ca holds a %s", strings.ToLower(block.Type))
		}
		authority, err := x509.ParseCertificate(block.Bytes)
		switch {
		case err != nil:
			return fmt.Errorf("ca: %w", err)
		case !authority.IsCA:
			return fmt.Errorf("ca: %q is no authority", authority.Subject.CommonName)
		case time.Now().After(authority.NotAfter):
			return fmt.Errorf("ca: %q ended at %s", authority.Subject.CommonName, authority.NotAfter.UTC().Format(time.RFC3339))
		}
		count++
	}
	if count == 0 || len(bytes.TrimSpace(rest)) > 0 {
		return errors.New("ca must be PEM of one or several authorities and nothing else")
	}
	return nil
}

// onlyCertificates leaves out keys.
func onlyCertificates(content []byte) []byte {
	var found []byte
	for block, rest := pem.Decode(content); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == "CERTIFICATE" {
			found = append(found, pem.EncodeToMemory(&pem.Block{Type: block.Type, Bytes: block.Bytes})...)
		}
	}
	return found
}

func firstCertificate(content []byte) (*x509.Certificate, error) {
	block, _ := pem.Decode(content)
	if block == nil {
		return nil, errors.New("no certificate in it")
	}
	return x509.ParseCertificate(block.Bytes)
}
