package identity_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"ringmaster/agent"
	"ringmaster/agent/agenttest"
	"ringmaster/agent/identity"
)

// enrolled is an identity with certificates of two authorities.
func enrolled(t *testing.T, cluster *agenttest.Authority) *identity.Identity {
	t.Helper()
	self, err := identity.Open(t.TempDir(), "node_1", "127.1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	agentCSR, engineCSR, err := self.Requests()
	if err != nil {
		t.Fatal(err)
	}
	agents := agenttest.NewAuthority(t, "agents")
	if err := self.Accept(identity.Issued{
		AgentCertificate: agents.Sign(agentCSR, "node_1", time.Hour), AgentCA: agents.PEM,
		EngineCertificate: cluster.Sign(engineCSR, "node_1", time.Hour), ClusterCA: cluster.PEM,
	}); err != nil {
		t.Fatal(err)
	}
	return self
}

func TestAnEnginesCertificateIsRenewedUnderAnotherAuthority(t *testing.T) {
	old, fresh := agenttest.NewAuthority(t, "cluster"), agenttest.NewAuthority(t, "cluster 2")
	self := enrolled(t, old)
	engine := self.Engine()
	before, err := engine.Certificate()
	if err != nil || strings.Contains(before.Certificate, "PRIVATE KEY") {
		t.Fatal(before, err)
	}
	csr, err := engine.RequestRenewal()
	if again, _ := engine.RequestRenewal(); err != nil || again != csr {
		t.Fatal("another request", err)
	}
	signed, both := fresh.Sign(csr, "node_1", time.Hour), old.PEM+fresh.PEM
	// The second time is a repeated call whose answer was lost.
	for range 2 {
		if err := engine.Renew(signed, both); err != nil {
			t.Fatal(err)
		}
	}
	after, err := engine.Certificate()
	if err != nil || after.Certificate == before.Certificate {
		t.Fatal(after, err)
	}
	if trusted, err := os.ReadFile(self.EngineAuthorityPEM()); err != nil || string(trusted) != both {
		t.Fatal(string(trusted), err)
	}
	if former, err := os.ReadFile(self.FormerEngineCertificate()); err != nil || string(former) != before.Certificate {
		t.Fatal(string(former), err)
	}
	if err := engine.Renew(signed, fresh.PEM); err != nil {
		t.Fatalf("the old authority cannot be left out: %v", err)
	}
	if err := engine.Renew(signed, old.PEM); code(err) != "certificate-refused" {
		t.Fatalf("an authority that did not sign: %v", err)
	}
}

func TestACertificateThatDoesNotFitReplacesNothing(t *testing.T) {
	cluster, other := agenttest.NewAuthority(t, "cluster"), agenttest.NewAuthority(t, "other")
	self := enrolled(t, cluster)
	engine := self.Engine()
	before, err := engine.Certificate()
	if err != nil {
		t.Fatal(err)
	}
	if err := engine.Renew(before.Certificate+before.Certificate, cluster.PEM); code(err) != "no-renewal" {
		t.Fatal(err)
	}
	csr, err := engine.RequestRenewal()
	if err != nil {
		t.Fatal(err)
	}
	good := cluster.Sign(csr, "node_1", time.Hour)
	for what, pair := range map[string][2]string{
		"another authority": {other.Sign(csr, "node_1", time.Hour), cluster.PEM},
		"another node":      {cluster.Sign(csr, "node_2", time.Hour), cluster.PEM},
		"another key":       {before.Certificate, cluster.PEM},
		"it has ended":      {cluster.Sign(csr, "node_1", -time.Second), cluster.PEM},
		"no certificate":    {"x", cluster.PEM},
		"no authority":      {good, ""},
		"rubbish after it":  {good, cluster.PEM + "x"},
		"not an authority":  {good, cluster.PEM + good},
		"a key among it":    {good, cluster.PEM + "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"},
	} {
		if err := engine.Renew(pair[0], pair[1]); code(err) != "certificate-refused" {
			t.Errorf("%s: %v", what, err)
		}
	}
	if after, err := engine.Certificate(); err != nil || after != before {
		t.Fatal(after, err)
	}
	if err := engine.Renew(good, cluster.PEM); err != nil {
		t.Fatal(err)
	}
}

func code(err error) string {
	if err == nil {
		return ""
	}
	return agent.AsError(err).Code
}
