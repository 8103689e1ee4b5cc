package enrol_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"ringmaster/agent"
	"ringmaster/agent/agenttest"
	"ringmaster/agent/enrol"
	"ringmaster/agent/identity"
)

func userData(plane *agenttest.ControlPlane) agent.UserData {
	return agent.UserData{NodeID: "node_1", EnrolURL: plane.URL, CAPEM: plane.Agents.PEM, Token: plane.Token, Address: "127.0.0.1"}
}

func newIdentity(t *testing.T, folder string) *identity.Identity {
	t.Helper()
	self, err := identity.Open(folder, "node_1", "127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	return self
}

func until(t *testing.T, data agent.UserData, self *identity.Identity, patience time.Duration) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return enrol.Until(ctx, data, self, slog.New(slog.DiscardHandler))
}

func TestALostReplyIsAskedForAgainWithTheSameRequest(t *testing.T) {
	plane := agenttest.NewControlPlane(t)
	plane.LoseReplies = 2
	folder := t.TempDir()
	// The agent is killed after the first try, too: keys and requests are on disk.
	if err := until(t, userData(plane), newIdentity(t, folder), 60*time.Millisecond); err == nil {
		t.Fatal("the reply was not lost")
	}
	if err := until(t, userData(plane), newIdentity(t, folder), 20*time.Second); err != nil {
		t.Fatal(err)
	}
	requests := plane.Requests()
	if len(requests) < 3 || requests[0] != requests[1] || requests[1] != requests[2] {
		t.Fatalf("%d requests", len(requests))
	}
}

func TestAnEnrolledAgentAsksNobody(t *testing.T) {
	plane := agenttest.NewControlPlane(t)
	folder := t.TempDir()
	if err := until(t, userData(plane), newIdentity(t, folder), 20*time.Second); err != nil {
		t.Fatal(err)
	}
	again := newIdentity(t, folder)
	if err := until(t, userData(plane), again, 20*time.Second); err != nil || len(plane.Requests()) != 1 {
		t.Fatal(err, len(plane.Requests()))
	}
	if _, err := again.Certificate(); err != nil {
		t.Fatal(err)
	}
}

func TestAControlPlaneOfAnotherAuthorityNeverSeesTheToken(t *testing.T) {
	plane := agenttest.NewControlPlane(t)
	data := userData(plane)
	data.CAPEM = agenttest.NewAuthority(t, "another").PEM
	self := newIdentity(t, t.TempDir())
	if err := until(t, data, self, 300*time.Millisecond); err == nil || self.Enrolled() || len(plane.Requests()) != 0 {
		t.Fatal(err, len(plane.Requests()))
	}
}

func TestAWrongTokenIsNotTheEnd(t *testing.T) {
	plane := agenttest.NewControlPlane(t)
	data := userData(plane)
	data.Token = "guessed"
	self := newIdentity(t, t.TempDir())
	if err := until(t, data, self, 300*time.Millisecond); err == nil || self.Enrolled() {
		t.Fatal(err)
	}
}

func TestTheTokenIsNotTakenElsewhere(t *testing.T) {
	plane := agenttest.NewControlPlane(t)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) {
		t.Errorf("%s came", request.Method)
	}))
	defer elsewhere.Close()
	plane.RedirectTo = elsewhere.URL
	if err := until(t, userData(plane), newIdentity(t, t.TempDir()), 300*time.Millisecond); err == nil {
		t.Fatal("it followed")
	}
}

func TestCertificatesThatAreNotOursAreRefused(t *testing.T) {
	plane := agenttest.NewControlPlane(t)
	self := newIdentity(t, t.TempDir())
	agentCSR, engineCSR, err := self.Requests()
	if err != nil {
		t.Fatal(err)
	}
	good := identity.Issued{
		AgentCertificate: plane.Agents.Sign(agentCSR, "node_1", time.Hour), AgentCA: plane.Agents.PEM,
		EngineCertificate: plane.Cluster.Sign(engineCSR, "node_1", time.Hour), ClusterCA: plane.Cluster.PEM,
	}
	for name, spoil := range map[string]func(*identity.Issued){
		"another node's name":     func(i *identity.Issued) { i.AgentCertificate = plane.Agents.Sign(agentCSR, "node_2", time.Hour) },
		"another key":             func(i *identity.Issued) { i.AgentCertificate = plane.Agents.Sign(engineCSR, "node_1", time.Hour) },
		"another authority":       func(i *identity.Issued) { i.ClusterCA = plane.Agents.PEM },
		"over already":            func(i *identity.Issued) { i.AgentCertificate = plane.Agents.Sign(agentCSR, "node_1", -time.Second) },
		"no certificate":          func(i *identity.Issued) { i.EngineCertificate = "" },
		"no authority of its own": func(i *identity.Issued) { i.AgentCA = "" },
	} {
		spoiled := good
		spoil(&spoiled)
		if err := self.Accept(spoiled); err == nil || self.Enrolled() {
			t.Errorf("%s: accepted", name)
		}
	}
	if err := self.Accept(good); err != nil {
		t.Fatal(err)
	}
}
