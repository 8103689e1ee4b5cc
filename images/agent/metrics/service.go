package metrics

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"
	"golang.org/x/sync/singleflight"
)

// ContentType is that of Prometheus' text format.
const ContentType = "text/plain; version=0.0.4; charset=utf-8"

// Source adds what it knows to a page before ctx ends. Of one that fails nothing is served: sums over half of the tables would lie.
type Source struct {
	Name    string
	Collect func(ctx context.Context, page *Page) error
}

// Service answers GET /metrics.
type Service struct {
	// NodeID is who may be meant: an address may have passed to another node since somebody looked it up.
	NodeID     string
	Vocabulary *Vocabulary
	Sources    []Source
	// Within is how long the sources may take.
	Within time.Duration
	Log    *slog.Logger

	flight singleflight.Group
}

// ServeHTTP answers the page. Who may ask is decided before it.
func (s *Service) ServeHTTP(response http.ResponseWriter, request *http.Request) {
	if wanted := request.URL.Query().Get("node"); wanted != "" && wanted != s.NodeID {
		http.Error(response, "This is another node.", http.StatusMisdirectedRequest)
		return
	}
	// Who comes while the sources are asked gets the same answer; it goes on when the first one has hung up.
	done := s.flight.DoChan("", func() (any, error) {
		ctx, cancel := context.WithTimeout(context.Background(), s.Within)
		defer cancel()
		return s.collect(ctx), nil
	})
	var pages *collected
	select {
	case <-request.Context().Done():
		return
	case result := <-done:
		pages = result.Val.(*collected)
	}
	response.Header().Set("Content-Type", ContentType)
	response.Header().Set("Cache-Control", "no-store")
	if !strings.Contains(request.Header.Get("Accept-Encoding"), "gzip") {
		_ = pages.write(response)
		return
	}
	response.Header().Set("Content-Encoding", "gzip")
	packed, err := gzip.NewWriterLevel(response, gzip.BestSpeed)
	if err != nil {
		s.Log.Error("metrics cannot be packed", "error", err)
		return
	}
	_ = errors.Join(pages.write(packed), packed.Close())
}

// collected is what all sources told at a moment. It does not change any more.
type collected struct {
	vocabulary *Vocabulary
	pages      []*Page
	// failures are for people; Prometheus passes them over.
	failures []string
}

func (s *Service) collect(ctx context.Context) *collected {
	type answer struct {
		index int
		page  *Page
		err   error
		took  time.Duration
	}
	answers := make(chan answer, len(s.Sources))
	began := time.Now()
	for index, source := range s.Sources {
		go func() {
			page := NewPage(s.Vocabulary)
			err := safely(func() error { return source.Collect(ctx, page) })
			answers <- answer{index: index, page: page, err: err, took: time.Since(began)}
		}()
	}
	got := make([]*answer, len(s.Sources))
	for range s.Sources {
		select {
		case one := <-answers:
			got[one.index] = &one
			continue
		case <-ctx.Done():
		}
		break
	}
	all := &collected{vocabulary: s.Vocabulary}
	own := NewPage(s.Vocabulary)
	for index, source := range s.Sources {
		labels := Labels("source", source.Name)
		one := got[index]
		if one == nil {
			one = &answer{err: fmt.Errorf("no answer within %v", s.Within), took: time.Since(began)}
		}
		own.Family("ringmaster_agent_scrape_duration_seconds").Add(labels, one.took.Seconds())
		success := own.Family("ringmaster_agent_scrape_success")
		if one.err != nil {
			success.Add(labels, 0)
			all.failures = append(all.failures, source.Name+": "+strings.ReplaceAll(one.err.Error(), "\n", " "))
			continue
		}
		success.Add(labels, 1)
		for _, name := range one.page.lacking {
			own.Family("ringmaster_agent_scrape_missing").Add(Labels("source", source.Name, "metric", name), 1)
		}
		if len(one.page.unknown) > 0 {
			s.Log.Error("metrics are not in the vocabulary", "source", source.Name, "names", one.page.unknown)
		}
		all.pages = append(all.pages, one.page)
	}
	all.pages = append(all.pages, own)
	return all
}

// safely makes an error of a panic: a scrape must not end the agent.
func safely(do func() error) (err error) {
	defer func() {
		if said := recover(); said != nil {
			err = fmt.Errorf("it panicked: %v", said)
		}
	}()
	return do()
}

var helpEscaping = strings.NewReplacer(`\`, `\\`, "\n", `\n`)

// write writes the samples of each metric together, in the order of the vocabulary.
func (c *collected) write(out io.Writer) error {
	buffer := make([]byte, 0, 2*writeAtOnce)
	for _, metric := range c.vocabulary.Metrics {
		begun := false
		for _, page := range c.pages {
			family := page.families[metric.Name]
			if family == nil || family.empty() {
				continue
			}
			if !begun {
				if _, err := fmt.Fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", metric.Name, helpEscaping.Replace(metric.Help), metric.Name, metric.Type); err != nil {
					return err
				}
				begun = true
			}
			var err error
			if buffer, err = family.write(out, buffer); err != nil {
				return err
			}
		}
	}
	for _, failure := range c.failures {
		if _, err := fmt.Fprintf(out, "# missing: %s\n", failure); err != nil {
			return err
		}
	}
	return nil
}
