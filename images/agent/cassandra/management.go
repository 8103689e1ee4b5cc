package cassandra

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"ringmaster/agent"
	"ringmaster/agent/jolokia"
	"ringmaster/agent/statefile"
)

// managementPort is where Jolokia listens inside the engine's JVM. Nothing of JMX leaves the machine.
const managementPort = 8778

// managementUser has a new random password at every start.
const managementUser = "agent"

// The management beans that the agent uses.
const (
	storageService    = "org.apache.cassandra.db:type=StorageService"
	storageProxy      = "org.apache.cassandra.db:type=StorageProxy"
	compactionManager = "org.apache.cassandra.db:type=CompactionManager"
	streamManager     = "org.apache.cassandra.net:type=StreamManager"
	gossiper          = "org.apache.cassandra.net:type=Gossiper"
	jvmRuntime        = "java.lang:type=Runtime"
)

// Operations that exist in several forms have to be named with the types of what they take, here and in the policy.
const (
	cleanupOperation  = "forceKeyspaceCleanup(int,java.lang.String,[Ljava.lang.String;)"
	upgradeOperation  = "upgradeSSTables(java.lang.String,boolean,int,[Ljava.lang.String;)"
	rebuildOperation  = "rebuild(java.lang.String,java.lang.String,java.lang.String,java.lang.String,boolean)"
	replicasOperation = "getNaturalEndpointsWithPort(java.lang.String,java.lang.String,java.lang.String)"
	repairOperation   = "repairAsync(java.lang.String,java.util.Map)"
	repairedOperation = "getParentRepairStatus(int)"
	endRepairs        = "forceTerminateAllRepairSessions()"
	rangesOperation   = "getRangeToEndpointWithPortMap(java.lang.String)"
)

// metric is the name of a metric's bean, for example metric("Streaming", "TotalIncomingBytes").
func metric(kind, name string, more ...string) string {
	return "org.apache.cassandra.metrics:type=" + kind + strings.Join(append([]string{""}, more...), ",") + ",name=" + name
}

// managed is what may be asked of a bean: attributes to read, operations to run. Everything else is refused inside the JVM,
// whatever password one has; the JVM's own beans could load foreign code.
type managed struct {
	Name       string      `xml:"name"`
	Attributes []attribute `xml:"attribute"`
	Operations []string    `xml:"operation"`
}

type attribute struct {
	Name string `xml:",chardata"`
	// Mode is "read"; empty: read and write.
	Mode string `xml:"mode,attr,omitempty"`
}

func readable(names ...string) []attribute {
	all := make([]attribute, len(names))
	for index, name := range names {
		all[index] = attribute{Name: name, Mode: "read"}
	}
	return all
}

// allowed are all of them.
func allowed() []managed {
	limits := managed{Name: storageService, Attributes: readable(compactionRate)}
	for _, limit := range streamLimits {
		limits.Attributes = append(limits.Attributes, attribute{Name: limit.attribute})
	}
	return joined(append([]managed{
		limits,
		{
			Name: storageService,
			Attributes: readable("OperationMode", "Initialized", "BootstrapMode", "SchemaVersion", "LiveNodes", "UnreachableNodes", "JoiningNodes",
				"LeavingNodes", "MovingNodes", "TokenToEndpointMap", "HostIdToEndpoint", "RemovalStatus",
				"NonLocalStrategyKeyspaces", "NativeTransportRunning", "Decommissioning"),
			Operations: []string{"joinRing", "startNativeTransport", "drain", "decommission", "removeNode",
				cleanupOperation, upgradeOperation, rebuildOperation, replicasOperation,
				repairOperation, repairedOperation, endRepairs, rangesOperation},
		},
		{Name: jvmRuntime, Attributes: readable("StartTime")},
		{Name: messagingService, Attributes: readable("DroppedMessages")},
		{Name: storageProxy, Attributes: readable("SchemaVersions")},
		{Name: compactionManager, Attributes: readable("Compactions")},
		{Name: streamManager, Attributes: readable("CurrentStreams")},
		{Name: gossiper, Operations: []string{"reloadSeeds"}},
		{Name: "org.apache.cassandra.metrics:*", Attributes: readable("Count", "Value", "99thPercentile")},
	}, slices.Concat(accessBeans(), snapshotBeans(), diagnosticBeans(), commandBeans())...))
}

// policy is Jolokia's own form of it. An empty list of commands means: nothing but what is allowed below.
func policy() ([]byte, error) {
	document := struct {
		XMLName  xml.Name  `xml:"restrict"`
		Methods  []string  `xml:"http>method"`
		Commands struct{}  `xml:"commands"`
		Allowed  []managed `xml:"allow>mbean"`
	}{Methods: []string{"post"}, Allowed: allowed()}
	content, err := xml.MarshalIndent(document, "", "  ")
	return append([]byte(xml.Header), content...), err
}

// managementAddress is the node's own where that is a loopback address, because several nodes may share this machine; else it
// is the one that no other machine reaches.
func managementAddress(config Config) string {
	host := "127.0.0.1"
	if own, err := netip.ParseAddr(config.Address); err == nil && own.IsLoopback() {
		host = config.Address
	}
	return net.JoinHostPort(host, strconv.Itoa(managementPort))
}

func (f folders) management() string { return filepath.Join(f.conf(), "jolokia.properties") }
func (f folders) policy() string     { return filepath.Join(f.conf(), "jolokia-policy.xml") }

// writeManagement renders what Jolokia reads at the engine's start, with a password of its own for every start.
func writeManagement(config Config, place folders) error {
	rules, err := policy()
	if err != nil {
		return err
	}
	if err := statefile.Write(place.policy(), rules); err != nil {
		return err
	}
	var secret [24]byte
	_, _ = rand.Read(secret[:])
	host, port, err := net.SplitHostPort(managementAddress(config))
	if err != nil {
		return err
	}
	return statefile.Write(place.management(), []byte(strings.Join([]string{
		"# Written by the agent at every start.",
		"host=" + host,
		"port=" + port,
		"user=" + managementUser,
		"password=" + hex.EncodeToString(secret[:]),
		"policyLocation=file://" + place.policy(),
		// One thread for each request: a long operation must not keep others waiting.
		"executor=cached",
		"discoveryEnabled=false",
		"",
	}, "\n")))
}

// managementOptions make the JVM load Jolokia. Its server sets itself up beside the engine; when it cannot, the engine goes
// on without. The password is in a file: a command line is everybody's to read.
func managementOptions(found tree, place folders) []string {
	return []string{
		fmt.Sprintf("-javaagent:%s=config=%s", filepath.Join(found.folder, "lib", found.manifest.Management), place.management()),
		// Without it every answer waits for the acknowledgement of its headers, some 40 ms.
		"-Dsun.net.httpserver.nodelay=true",
	}
}

// managementLogin reads what writeManagement wrote for the engine that runs now.
func (f folders) managementLogin() (jolokia.Login, error) {
	content, err := os.ReadFile(f.management())
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return jolokia.Login{}, agent.Errorf("engine-not-running", "The engine was not started by this agent yet.")
		}
		return jolokia.Login{}, err
	}
	facts := map[string]string{}
	for line := range strings.Lines(string(content)) {
		if name, value, found := strings.Cut(strings.TrimSpace(line), "="); found {
			facts[name] = value
		}
	}
	return jolokia.Login{
		Address: net.JoinHostPort(facts["host"], facts["port"]), Username: facts["user"], Password: facts["password"],
	}, nil
}
