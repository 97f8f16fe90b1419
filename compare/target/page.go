package target

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"slices"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// The counters that are read. The API server's page has thousands of others.
const (
	cpuSeconds       = "process_cpu_seconds_total"
	startTime        = "process_start_time_seconds"
	allocatedBytes   = "go_memstats_alloc_bytes_total"
	allocatedObjects = "go_memstats_mallocs_total"
	requestSeconds   = "apiserver_request_duration_seconds_sum"
	etcdRequests     = "etcd_requests_total"
	queueSeconds     = "apiserver_flowcontrol_request_wait_duration_seconds_sum"
	proposals        = "etcd_server_proposals_committed_total"
)

var wanted = []string{
	cpuSeconds, startTime, allocatedBytes, allocatedObjects, requestSeconds, etcdRequests, queueSeconds, proposals,
}

// page is what of a page of metrics is wanted; nil if it could not be read.
type page map[string]*dto.MetricFamily

// readPage keeps the lines of wanted names before it parses anything. Without their comments they are all untyped, so
// that the sum of a histogram is a name like any other.
func readPage(in io.Reader) (page, error) {
	var kept bytes.Buffer
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Bytes()
		end := bytes.IndexAny(line, "{ ")
		if end > 0 && slices.Contains(wanted, string(line[:end])) {
			kept.Write(line)
			kept.WriteByte('\n')
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("reading a page of metrics: %w", err)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(&kept)
	if err != nil {
		return nil, fmt.Errorf("reading a page of metrics: %w", err)
	}
	return families, nil
}

// where selects by each of its labels one of the values.
type where map[string][]string

// sum adds up what is selected. It is false if the page does not have the counter, or not those labels; a counter that
// has them, but none with such a value, has not counted yet and is 0.
func (p page) sum(name string, of where) (float64, bool) {
	sum, known := 0.0, false
	for _, metric := range p[name].GetMetric() {
		labels := map[string]string{}
		for _, label := range metric.GetLabel() {
			labels[label.GetName()] = label.GetValue()
		}
		has, matches := of.in(labels)
		known = known || has
		if matches {
			sum += metric.GetUntyped().GetValue()
		}
	}
	return sum, known
}

func (w where) in(labels map[string]string) (has, matches bool) {
	matches = true
	for name, values := range w {
		value, ok := labels[name]
		if !ok {
			return false, false
		}
		matches = matches && slices.Contains(values, value)
	}
	return true, matches
}

// grown is what a counter has grown by between two pages; nil if one of them does not have it, or it began again.
func grown(before, after page, name string, of where) *float64 {
	if restarted(before, after) {
		return nil
	}
	from, knownBefore := before.sum(name, of)
	to, known := after.sum(name, of)
	// A counter with labels is on the page from what it first counts; one without, from the start.
	if !known || (!knownBefore && (before == nil || len(of) == 0)) || to < from {
		return nil
	}
	growth := to - from
	return &growth
}

// restarted says that the pages are not of one and the same process.
func restarted(before, after page) bool {
	from, _ := before.sum(startTime, nil)
	to, _ := after.sum(startTime, nil)
	return from != to
}
