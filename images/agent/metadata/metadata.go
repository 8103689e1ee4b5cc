// Package metadata asks a cloud's metadata service what this machine is. The services are slow or answer 503 while a machine
// boots, so questions are repeated until the caller's time is over.
package metadata

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"ringmaster/agent"
)

// The providers whose services are known.
const (
	AWS = "aws"
	GCP = "gcp"
)

// Instance is what a service says. Empty fields were not told.
type Instance struct {
	ID   string `json:"id"`
	Type string `json:"type"`
	Zone string `json:"zone"`
	// Address is the machine's own in its network.
	Address string `json:"address"`
}

// Service is where to ask.
type Service struct {
	// Address is the service's URL without a path; empty means the provider's link-local one.
	Address string
	// Pause is the first pause between two tries, it doubles up to 2 s; 0 means 100 ms.
	Pause time.Duration
}

// Detect tells the provider by what the firmware says, below root; empty when it is none we know.
func Detect(root string) string {
	for _, name := range []string{"sys_vendor", "product_name", "bios_version", "bios_vendor"} {
		content, err := os.ReadFile(filepath.Join(root, "sys/class/dmi/id", name))
		if err != nil {
			continue
		}
		text := strings.ToLower(string(content))
		switch {
		case strings.Contains(text, "amazon"):
			return AWS
		case strings.Contains(text, "google"):
			return GCP
		}
	}
	return ""
}

const (
	usual        = "http://169.254.169.254"
	longestPause = 2 * time.Second
	longestTry   = 3 * time.Second
	mostBytes    = 64 << 10
)

// Read asks until it is answered or ctx ends. Error codes: metadata-unreachable, metadata-refused (an answer that no repetition
// changes).
func (s Service) Read(ctx context.Context, provider string) (Instance, error) {
	ask := map[string]func(context.Context) (Instance, error){AWS: s.aws, GCP: s.gcp}[provider]
	if ask == nil {
		return Instance{}, nil
	}
	var found Instance
	err := s.repeat(ctx, provider, func(ctx context.Context) (err error) {
		found, err = ask(ctx)
		return err
	})
	return found, err
}

func (s Service) repeat(ctx context.Context, provider string, ask func(context.Context) error) error {
	pause := s.Pause
	if pause == 0 {
		pause = 100 * time.Millisecond
	}
	for {
		err := ask(ctx)
		var refused *agent.Error
		if err == nil || errors.As(err, &refused) {
			return err
		}
		select {
		case <-ctx.Done():
			return agent.Errorf("metadata-unreachable", "The metadata service of %s does not answer: %v", provider, err)
		case <-time.After(pause):
			pause = min(2*pause, longestPause)
		}
	}
}

// UserData is what the machine was told when it was made, asked for until it is answered or ctx ends. Error codes: as those of Read, and
// no-provider where no service is known.
func (s Service) UserData(ctx context.Context, provider string) (string, error) {
	var text string
	ask := map[string]func(context.Context) error{
		AWS: func(ctx context.Context) error {
			token, err := s.token(ctx)
			if err != nil {
				return err
			}
			text, _, err = call(ctx, http.MethodGet, s.base()+"/latest/user-data", map[string]string{"X-aws-ec2-metadata-token": token})
			return err
		},
		GCP: func(ctx context.Context) (err error) {
			text, err = s.google(ctx, "attributes/user-data")
			return err
		},
	}[provider]
	if ask == nil {
		return "", agent.Errorf("no-provider", "There is no metadata service that could tell what this machine is for.")
	}
	return text, s.repeat(ctx, provider, ask)
}

// aws uses the second version of the service, which wants a token: nothing that only forwards GET requests can ask it.
func (s Service) aws(ctx context.Context) (Instance, error) {
	base := s.base()
	token, err := s.token(ctx)
	if err != nil {
		return Instance{}, err
	}
	var found Instance
	for name, into := range map[string]*string{
		"instance-id": &found.ID, "instance-type": &found.Type, "placement/availability-zone": &found.Zone, "local-ipv4": &found.Address,
	} {
		if *into, _, err = call(ctx, http.MethodGet, base+"/latest/meta-data/"+name, map[string]string{"X-aws-ec2-metadata-token": token}); err != nil {
			return Instance{}, err
		}
	}
	return found, nil
}

func (s Service) token(ctx context.Context) (string, error) {
	token, _, err := call(ctx, http.MethodPut, s.base()+"/latest/api/token", map[string]string{"X-aws-ec2-metadata-token-ttl-seconds": "300"})
	return token, err
}

func (s Service) gcp(ctx context.Context) (Instance, error) {
	var found Instance
	for name, into := range map[string]*string{"id": &found.ID, "machine-type": &found.Type, "zone": &found.Zone, "network-interfaces/0/ip": &found.Address} {
		text, err := s.google(ctx, name)
		if err != nil {
			return Instance{}, err
		}
		*into = path.Base(text) // projects/123/zones/us-central1-a
	}
	return found, nil
}

// google asks with the header that shows that nobody was tricked into asking, and looks for the same in the answer.
func (s Service) google(ctx context.Context, name string) (string, error) {
	base := s.base()
	text, header, err := call(ctx, http.MethodGet, base+"/computeMetadata/v1/instance/"+name, map[string]string{"Metadata-Flavor": "Google"})
	if err != nil {
		return "", err
	}
	if header.Get("Metadata-Flavor") != "Google" {
		return "", agent.Errorf("metadata-refused", "What answers at %s is not Google's metadata service.", base)
	}
	return text, nil
}

func (s Service) base() string {
	if s.Address != "" {
		return strings.TrimSuffix(s.Address, "/")
	}
	return usual
}

func call(ctx context.Context, method, url string, headers map[string]string) (string, http.Header, error) {
	within, cancel := context.WithTimeout(ctx, longestTry)
	defer cancel()
	request, err := http.NewRequestWithContext(within, method, url, nil)
	if err != nil {
		return "", nil, err
	}
	for name, value := range headers {
		request.Header.Set(name, value)
	}
	// No proxy: the service is on the machine's own link.
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: (&net.Dialer{Timeout: time.Second}).DialContext}}
	answer, err := client.Do(request)
	if err != nil {
		return "", nil, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, mostBytes))
	if err != nil {
		return "", nil, err
	}
	switch {
	case answer.StatusCode == http.StatusOK:
		return strings.TrimSpace(string(body)), answer.Header, nil
	case answer.StatusCode == http.StatusForbidden || answer.StatusCode == http.StatusBadRequest:
		return "", nil, agent.Errorf("metadata-refused", "The metadata service answers %d to %s %s.", answer.StatusCode, method, url)
	}
	// 401: the token is over; 404 and 5xx: not filled in yet.
	return "", nil, fmt.Errorf("%s %s: %d", method, url, answer.StatusCode)
}
