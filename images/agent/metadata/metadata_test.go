package metadata

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"ringmaster/agent"
)

// aws is a service that wants the token, as the second version does.
func aws(response http.ResponseWriter, request *http.Request) {
	values := map[string]string{
		"/latest/user-data":             `{"node_id": "n1"}`,
		"/latest/meta-data/instance-id": "i-0abc", "/latest/meta-data/instance-type": "i3.8xlarge", "/latest/meta-data/placement/availability-zone": "us-east-1a",
		"/latest/meta-data/local-ipv4": "10.0.0.5",
	}
	switch {
	case request.Method == http.MethodPut && request.URL.Path == "/latest/api/token" && request.Header.Get("X-aws-ec2-metadata-token-ttl-seconds") != "":
		fmt.Fprint(response, "secret")
	case request.Method != http.MethodGet || request.Header.Get("X-aws-ec2-metadata-token") != "secret":
		response.WriteHeader(http.StatusUnauthorized)
	case values[request.URL.Path] == "":
		response.WriteHeader(http.StatusNotFound)
	default:
		fmt.Fprintln(response, values[request.URL.Path])
	}
}

func gcp(response http.ResponseWriter, request *http.Request) {
	if request.Header.Get("Metadata-Flavor") != "Google" {
		response.WriteHeader(http.StatusForbidden)
		return
	}
	values := map[string]string{
		"/computeMetadata/v1/instance/attributes/user-data": `{"node_id": "n1"}`,
		"/computeMetadata/v1/instance/id":                   "42", "/computeMetadata/v1/instance/machine-type": "projects/7/machineTypes/n2-highmem-16",
		"/computeMetadata/v1/instance/zone": "projects/7/zones/us-central1-b", "/computeMetadata/v1/instance/network-interfaces/0/ip": "10.0.0.6",
	}
	response.Header().Set("Metadata-Flavor", "Google")
	fmt.Fprint(response, values[request.URL.Path])
}

func served(t *testing.T, handler http.HandlerFunc) Service {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return Service{Address: server.URL, Pause: time.Millisecond}
}

func refusedWith(err error, code string) bool {
	var coded *agent.Error
	return errors.As(err, &coded) && coded.Code == code
}

func TestBothServicesTellWhatTheMachineIs(t *testing.T) {
	if found, err := served(t, aws).Read(t.Context(), AWS); err != nil || found != (Instance{"i-0abc", "i3.8xlarge", "us-east-1a", "10.0.0.5"}) {
		t.Error(found, err)
	}
	if found, err := served(t, gcp).Read(t.Context(), GCP); err != nil || found != (Instance{"42", "n2-highmem-16", "us-central1-b", "10.0.0.6"}) {
		t.Error(found, err)
	}
	if found, err := (Service{}).Read(t.Context(), "local"); err != nil || found != (Instance{}) {
		t.Error(found, err)
	}
}

func TestBothServicesTellWhatTheMachineIsFor(t *testing.T) {
	for provider, service := range map[string]http.HandlerFunc{AWS: aws, GCP: gcp} {
		if text, err := served(t, service).UserData(t.Context(), provider); err != nil || text != `{"node_id": "n1"}` {
			t.Error(provider, text, err)
		}
	}
	if text, err := (Service{}).UserData(t.Context(), ""); !refusedWith(err, "no-provider") {
		t.Error(text, err)
	}
}

func TestAServiceThatIsNotReadyIsAskedAgain(t *testing.T) {
	for name, stumble := range map[string]http.HandlerFunc{
		"503": func(response http.ResponseWriter, _ *http.Request) {
			response.WriteHeader(http.StatusServiceUnavailable)
		},
		"404": func(response http.ResponseWriter, _ *http.Request) { response.WriteHeader(http.StatusNotFound) },
		"cut off": func(response http.ResponseWriter, _ *http.Request) {
			connection, _, _ := response.(http.Hijacker).Hijack()
			_ = connection.Close()
		},
		"slow": func(response http.ResponseWriter, request *http.Request) {
			time.Sleep(50 * time.Millisecond)
			aws(response, request)
		},
	} {
		var asked atomic.Int64
		service := served(t, func(response http.ResponseWriter, request *http.Request) {
			if asked.Add(1) > 5 {
				aws(response, request)
			} else {
				stumble(response, request)
			}
		})
		if found, err := service.Read(t.Context(), AWS); err != nil || found.Type != "i3.8xlarge" {
			t.Errorf("%s: %+v %v", name, found, err)
		}
	}
}

func TestAnAbsentServiceEndsWithTheCallersTime(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	for _, provider := range []string{AWS, GCP} {
		within, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		if found, err := (Service{Address: server.URL, Pause: time.Millisecond}).Read(within, provider); !refusedWith(err, "metadata-unreachable") {
			t.Errorf("%s: %+v %v", provider, found, err)
		}
		cancel()
	}
}

func TestSomebodyElseIsNotGoogle(t *testing.T) {
	service := served(t, func(response http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(response, "welcome to the hotel's network")
	})
	if found, err := service.Read(t.Context(), GCP); !refusedWith(err, "metadata-refused") {
		t.Error(found, err)
	}
}

func TestTheFirmwareTellsTheProvider(t *testing.T) {
	for _, machine := range []struct{ file, content, provider string }{
		{"sys_vendor", "Amazon EC2", AWS}, {"bios_version", "4.11.amazon", AWS}, {"product_name", "Google Compute Engine", GCP}, {"sys_vendor", "QEMU", ""},
	} {
		root := t.TempDir()
		folder := filepath.Join(root, "sys/class/dmi/id")
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, machine.file), []byte(machine.content+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if found := Detect(root); found != machine.provider {
			t.Errorf("%+v is %q", machine, found)
		}
	}
}
