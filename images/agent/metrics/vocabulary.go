// Package metrics makes the page that GET /metrics answers: in one vocabulary, of several sources, in Prometheus' text format.
package metrics

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

//go:embed vocabulary.json
var vocabularyFile []byte

// Metric is one name of the vocabulary.
type Metric struct {
	Name   string
	Type   string
	Scope  string
	Labels []string
	Help   string
	// Bounds are those of a histogram, growing, without the last one, which is infinite.
	Bounds []float64
	// Cassandra and Scylla say where the number comes from; empty when that engine has none.
	Cassandra, Scylla string
	// Optional says when it is left out; empty: never.
	Optional string

	// following is what stands after the labels of each bucket.
	following []string
}

// Vocabulary is all that may be served.
type Vocabulary struct {
	Metrics []*Metric
	byName  map[string]*Metric
}

// ReadVocabulary reads the file that the agent was built with.
func ReadVocabulary() (*Vocabulary, error) {
	var file struct {
		Bounds  map[string][]float64 `json:"bounds"`
		Metrics []struct {
			Name      string          `json:"name"`
			Type      string          `json:"type"`
			Scope     string          `json:"scope"`
			Labels    []string        `json:"labels"`
			Help      string          `json:"help"`
			Bounds    string          `json:"bounds"`
			Cassandra json.RawMessage `json:"cassandra"`
			Scylla    json.RawMessage `json:"scylla"`
			Optional  string          `json:"optional"`
		} `json:"metrics"`
	}
	if err := json.Unmarshal(vocabularyFile, &file); err != nil {
		return nil, fmt.Errorf("vocabulary of metrics: %w", err)
	}
	read := &Vocabulary{byName: map[string]*Metric{}}
	for _, one := range file.Metrics {
		metric := &Metric{
			Name: one.Name, Type: one.Type, Scope: one.Scope, Labels: one.Labels, Help: one.Help, Bounds: file.Bounds[one.Bounds],
			Cassandra: source(one.Cassandra), Scylla: source(one.Scylla), Optional: one.Optional,
		}
		for _, bound := range metric.Bounds {
			metric.following = append(metric.following, `le="`+strconv.FormatFloat(bound, 'g', -1, 64)+`"} `)
		}
		metric.following = append(metric.following, `le="+Inf"} `)
		read.Metrics = append(read.Metrics, metric)
		read.byName[metric.Name] = metric
	}
	return read, nil
}

// source is empty where the file says why there is none.
func source(said json.RawMessage) string {
	var text string
	if json.Unmarshal(said, &text) != nil {
		return ""
	}
	return text
}

// Named is the metric of that name; nil: there is none.
func (v *Vocabulary) Named(name string) *Metric { return v.byName[name] }

var escaping = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)

// Labels are names and values in turn, as they stand between the braces.
func Labels(pairs ...string) string {
	var text strings.Builder
	for index := 0; index+1 < len(pairs); index += 2 {
		if index > 0 {
			text.WriteByte(',')
		}
		text.WriteString(pairs[index])
		text.WriteString(`="`)
		_, _ = escaping.WriteString(&text, pairs[index+1])
		text.WriteByte('"')
	}
	return text.String()
}
