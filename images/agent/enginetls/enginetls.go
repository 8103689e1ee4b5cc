// Package enginetls is about the key and certificate of the engine on this machine: trusting exactly that engine, and looking at what
// it shows.
package enginetls

import (
	"context"
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// Identity is the engine's own key and certificate, and the authorities of its cluster, as PEM files.
type Identity struct {
	KeyAndCertificate, Authority string
	// FormerCertificate is there while the engine may still show the one that was replaced.
	FormerCertificate string
}

// Own is the engine's certificate on disk.
func (i Identity) Own() (*x509.Certificate, error) { return certificateIn(i.KeyAndCertificate) }

// Trust accepts exactly the engine beside us: a chain to the cluster's authority is not enough, because every other node has one; the
// key must be this machine's own.
func (i Identity) Trust() (*tls.Config, error) {
	authority, err := os.ReadFile(i.Authority)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(authority) {
		return nil, fmt.Errorf("%s holds no certificate", i.Authority)
	}
	own, err := i.Own()
	if err != nil {
		return nil, err
	}
	former, err := certificateIn(i.FormerCertificate)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS13,
		// Replaced by the stricter check below; addresses are not names.
		InsecureSkipVerify: true,
		VerifyConnection: func(state tls.ConnectionState) error {
			shown := state.PeerCertificates[0]
			if former != nil && shown.Equal(former) {
				// Replaced in our files, but the engine was not told yet. Its authority may be gone already.
				return nil
			}
			if _, err := shown.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}); err != nil {
				return err
			}
			key, ok := shown.PublicKey.(*ecdsa.PublicKey)
			if !ok || !key.Equal(own.PublicKey) {
				return errors.New("another node's engine answers at this node's address")
			}
			return nil
		},
	}, nil
}

// Shows fails unless a new connection to host:port is answered with the certificate of this serial, in hexadecimal.
func (i Identity) Shows(ctx context.Context, address, serial string) error {
	pair, err := tls.LoadX509KeyPair(i.KeyAndCertificate, i.KeyAndCertificate)
	if err != nil {
		return err
	}
	shown := ""
	dialer := tls.Dialer{Config: &tls.Config{
		MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair},
		// Nothing is said over this connection; only what it shows is looked at.
		InsecureSkipVerify: true,
		VerifyConnection: func(state tls.ConnectionState) error {
			shown = state.PeerCertificates[0].SerialNumber.Text(16)
			return nil
		},
	}}
	within, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	socket, err := dialer.DialContext(within, "tcp", address)
	if err != nil {
		return err
	}
	_ = socket.Close()
	if shown != serial {
		return errors.New(address + " still shows certificate " + shown)
	}
	return nil
}

// ForgetFormer ends the time in which the engine may show what it had before.
func (i Identity) ForgetFormer() error {
	if err := os.Remove(i.FormerCertificate); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func certificateIn(path string) (*x509.Certificate, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	for block, rest := pem.Decode(content); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == "CERTIFICATE" {
			return x509.ParseCertificate(block.Bytes)
		}
	}
	return nil, fmt.Errorf("%s holds no certificate", path)
}
