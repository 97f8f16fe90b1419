package target

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
)

// The counters that are read. The API server's page has thousands of others.
const (
	cpuSeconds       = "process_cpu_seconds_total"
	startTime        = "process_start_time_seconds"
	allocatedBytes   = "go_memstats_alloc_bytes_total"
	allocatedObjects = "go_memstats_mallocs_total"
	requestSeconds   = "apiserver_request_duration_seconds"
	etcdRequests     = "etcd_requests_total"
	queueSeconds     = "apiserver_flowcontrol_request_wait_duration_seconds"
	proposals        = "etcd_server_proposals_committed_total"
)

var wanted = []string{
	cpuSeconds, startTime, allocatedBytes, allocatedObjects, requestSeconds, etcdRequests, queueSeconds, proposals,
}

// page is what of a page of metrics is wanted, by name; nil if it could not be read.
type page map[string][]sample

// sample is a counter's value, or a histogram's sum.
type sample struct {
	labels map[string]string
	value  float64
}

// accept asks for Prometheus' binary form: it costs the API server half the CPU of the text, which would be counted
// among that of the trial.
const accept = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited, " +
	"text/plain;version=0.0.4;q=0.5"

// fetchPage returns nil for a page that there is not, or that may not be read.
func fetchPage(ctx context.Context, client *http.Client, address string) (page, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", accept)
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	switch response.StatusCode {
	case http.StatusOK:
		return readPage(response.Body, expfmt.ResponseFormat(response.Header))
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound:
		return nil, nil
	}
	return nil, fmt.Errorf("%s answers %s", address, response.Status)
}

func readPage(in io.Reader, format expfmt.Format) (page, error) {
	decoder := expfmt.NewDecoder(in, format)
	read := page{}
	for {
		var family dto.MetricFamily
		err := decoder.Decode(&family)
		if errors.Is(err, io.EOF) {
			return read, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading a page of metrics: %w", err)
		}
		if slices.Contains(wanted, family.GetName()) {
			read[family.GetName()] = samples(&family)
		}
	}
}

func samples(family *dto.MetricFamily) []sample {
	read := make([]sample, 0, len(family.GetMetric()))
	for _, metric := range family.GetMetric() {
		s := sample{labels: make(map[string]string, len(metric.GetLabel()))}
		for _, label := range metric.GetLabel() {
			s.labels[label.GetName()] = label.GetValue()
		}
		switch family.GetType() {
		case dto.MetricType_COUNTER:
			s.value = metric.GetCounter().GetValue()
		case dto.MetricType_GAUGE:
			s.value = metric.GetGauge().GetValue()
		case dto.MetricType_HISTOGRAM:
			s.value = metric.GetHistogram().GetSampleSum()
		default: // what is not known to count is not read
			continue
		}
		read = append(read, s)
	}
	return read
}
