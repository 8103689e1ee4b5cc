package metrics

import (
	"io"
	"math"
	"slices"
	"strconv"
)

// Page is what one source tells at a moment. It is not for several goroutines at once.
type Page struct {
	vocabulary *Vocabulary
	families   map[string]*Family
	unknown    []string
	lacking    []string
}

// NewPage makes an empty one.
func NewPage(vocabulary *Vocabulary) *Page {
	return &Page{vocabulary: vocabulary, families: map[string]*Family{}}
}

// Vocabulary is the one that the page is in.
func (p *Page) Vocabulary() *Vocabulary { return p.vocabulary }

// Family is where samples of a metric are added. One that the vocabulary has not is noted and not served.
func (p *Page) Family(name string) *Family {
	if found := p.families[name]; found != nil {
		return found
	}
	metric := p.vocabulary.Named(name)
	if metric == nil {
		p.unknown = append(p.unknown, name)
		return &Family{metric: &Metric{Name: name}}
	}
	made := &Family{metric: metric}
	p.families[name] = made
	return made
}

// Unknown are the names that were asked for and are not in the vocabulary.
func (p *Page) Unknown() []string { return p.unknown }

// Lacking notes a metric that the source should have and has not.
func (p *Page) Lacking(name string) {
	if !slices.Contains(p.lacking, name) {
		p.lacking = append(p.lacking, name)
	}
}

// Family is the samples of one metric: as text, and those that become text only when the page is written. With a thousand tables the text is
// a hundred times what it is made of.
type Family struct {
	metric *Metric
	text   []byte
	kept   []kept
	render Render
}

// Render adds to a family what a token means.
type Render func(into *Family, labels string, token []byte)

type kept struct {
	labels string
	token  []byte
}

// Keep notes a sample that is made of a token when the page is written: by render, or it is a number as text already. All of one
// family are made in one way. Neither labels nor token may change any more.
func (f *Family) Keep(labels string, token []byte, render Render) {
	f.kept, f.render = append(f.kept, kept{labels, token}), render
}

// write writes all samples, through a buffer that is handed on.
func (f *Family) write(out io.Writer, buffer []byte) ([]byte, error) {
	if _, err := out.Write(f.text); err != nil {
		return buffer, err
	}
	made := Family{metric: f.metric, text: buffer[:0]}
	for index, one := range f.kept {
		if f.render != nil {
			f.render(&made, one.labels, one.token)
		} else {
			made.raw(one.labels, one.token)
		}
		if len(made.text) < writeAtOnce && index < len(f.kept)-1 {
			continue
		}
		if _, err := out.Write(made.text); err != nil {
			return made.text, err
		}
		made.text = made.text[:0]
	}
	return made.text, nil
}

// writeAtOnce is when a buffer is written out.
const writeAtOnce = 32 << 10

func (f *Family) empty() bool { return len(f.text)+len(f.kept) == 0 }

// Bounds are those of the metric.
func (f *Family) Bounds() []float64 { return f.metric.Bounds }

// Add adds a sample; labels are as Labels makes them, empty for none. One that is not a number is left out.
func (f *Family) Add(labels string, value float64) {
	if math.IsNaN(value) {
		return
	}
	f.begin("", labels)
	f.text = strconv.AppendFloat(f.text, value, 'g', -1, 64)
	f.text = append(f.text, '\n')
}

// raw adds a sample whose number is text already.
func (f *Family) raw(labels string, number []byte) {
	f.begin("", labels)
	f.text = append(f.text, number...)
	f.text = append(f.text, '\n')
}

// Histogram adds one. counts are how many were at most so large, for each of the bounds; the last, for all, comes after them.
func (f *Family) Histogram(labels string, counts []int64, sum float64) {
	for index, count := range counts {
		f.text = append(f.text, f.metric.Name...)
		f.text = append(f.text, "_bucket{"...)
		if labels != "" {
			f.text = append(f.text, labels...)
			f.text = append(f.text, ',')
		}
		f.text = append(f.text, f.metric.following[index]...)
		f.text = strconv.AppendInt(f.text, count, 10)
		f.text = append(f.text, '\n')
	}
	f.totals(labels, counts[len(counts)-1], sum)
}

// Bucket is one of a histogram with bounds of its engine's own.
type Bucket struct {
	// LE is the bound, +Inf in the last.
	LE    float64
	Count int64
}

// OwnHistogram adds a histogram whose bounds are not those of the vocabulary but its engine's.
func (f *Family) OwnHistogram(labels string, buckets []Bucket, sum float64) {
	for _, bucket := range buckets {
		bound := "+Inf"
		if !math.IsInf(bucket.LE, 1) {
			bound = strconv.FormatFloat(bucket.LE, 'g', -1, 64)
		}
		with := `le="` + bound + `"`
		if labels != "" {
			with = labels + "," + with
		}
		f.begin("_bucket", with)
		f.text = strconv.AppendInt(f.text, bucket.Count, 10)
		f.text = append(f.text, '\n')
	}
	f.totals(labels, buckets[len(buckets)-1].Count, sum)
}

func (f *Family) totals(labels string, count int64, sum float64) {
	f.begin("_sum", labels)
	f.text = strconv.AppendFloat(f.text, sum, 'g', -1, 64)
	f.text = append(f.text, '\n')
	f.begin("_count", labels)
	f.text = strconv.AppendInt(f.text, count, 10)
	f.text = append(f.text, '\n')
}

func (f *Family) begin(suffix, labels string) {
	f.text = append(f.text, f.metric.Name...)
	f.text = append(f.text, suffix...)
	if labels != "" {
		f.text = append(f.text, '{')
		f.text = append(f.text, labels...)
		f.text = append(f.text, '}')
	}
	f.text = append(f.text, ' ')
}
