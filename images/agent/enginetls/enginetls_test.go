package enginetls_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ringmaster/agent/agenttest"
	"ringmaster/agent/enginetls"
)

// engine answers at an address with a pair, as the engine beside the agent would.
func engine(t *testing.T, pair tls.Certificate) string {
	t.Helper()
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS13})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			socket, err := listener.Accept()
			if err != nil {
				return
			}
			go func(socket net.Conn) {
				_ = socket.(*tls.Conn).Handshake()
				_, _ = socket.Read(make([]byte, 1))
				_ = socket.Close()
			}(socket)
		}
	}()
	return listener.Addr().String()
}

// onDisk is the identity of the pair.
func onDisk(t *testing.T, authority *agenttest.Authority, pair tls.Certificate) enginetls.Identity {
	t.Helper()
	folder := t.TempDir()
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	content := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})
	content = append(content, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]})...)
	self := enginetls.Identity{
		KeyAndCertificate: filepath.Join(folder, "engine.pem"), Authority: filepath.Join(folder, "ca.pem"), FormerCertificate: filepath.Join(folder, "former.pem"),
	}
	for path, text := range map[string][]byte{self.KeyAndCertificate: content, self.Authority: []byte(authority.PEM)} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return self
}

func trusts(t *testing.T, self enginetls.Identity, address string) error {
	t.Helper()
	config, err := self.Trust()
	if err != nil {
		t.Fatal(err)
	}
	socket, err := tls.Dial("tcp", address, config)
	if err == nil {
		_ = socket.Close()
	}
	return err
}

func TestOnlyTheEngineBesideUsIsTrusted(t *testing.T) {
	cluster := agenttest.NewAuthority(t, "cluster")
	own, neighbour := cluster.Pair("nod_1"), cluster.Pair("nod_2")
	self := onDisk(t, cluster, own)
	if err := trusts(t, self, engine(t, own)); err != nil {
		t.Error(err)
	}
	if err := trusts(t, self, engine(t, neighbour)); err == nil || !strings.Contains(err.Error(), "another node's engine") {
		t.Errorf("a neighbour: %v", err)
	}
	if err := trusts(t, self, engine(t, agenttest.NewAuthority(t, "other").Pair("nod_1"))); err == nil {
		t.Error("another authority's engine is trusted")
	}
}

func TestWhatItShowedBeforeIsTrustedForAWhile(t *testing.T) {
	old, fresh := agenttest.NewAuthority(t, "cluster"), agenttest.NewAuthority(t, "cluster 2")
	before, after := old.Pair("nod_1"), fresh.Pair("nod_1")
	self := onDisk(t, fresh, after)
	address := engine(t, before)
	if trusts(t, self, address) == nil {
		t.Error("it is trusted although nobody knows it")
	}
	former := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: before.Certificate[0]})
	if err := os.WriteFile(self.FormerCertificate, former, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := trusts(t, self, address); err != nil {
		t.Error(err)
	}
	for range 2 {
		if err := self.ForgetFormer(); err != nil {
			t.Error(err)
		}
	}
	if trusts(t, self, address) == nil {
		t.Error("it is trusted for ever")
	}
}

func TestWhichCertificateIsShownIsSeen(t *testing.T) {
	cluster := agenttest.NewAuthority(t, "cluster")
	before, after := cluster.Pair("nod_1"), cluster.Pair("nod_1")
	self := onDisk(t, cluster, after)
	own, err := self.Own()
	if err != nil {
		t.Fatal(err)
	}
	serial := own.SerialNumber.Text(16)
	if err := self.Shows(t.Context(), engine(t, after), serial); err != nil {
		t.Error(err)
	}
	if err := self.Shows(t.Context(), engine(t, before), serial); err == nil || !strings.Contains(err.Error(), "still shows certificate") {
		t.Errorf("%v", err)
	}
}
