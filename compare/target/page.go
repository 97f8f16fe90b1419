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

// The metrics that are read from the pages of the API server and of etcd. The pages have thousands of other metrics.
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

// page maps the names of the wanted metrics of a /metrics page to their time series. It is nil if the page could not be read.
type page map[string][]sample

// sample is one time series: the value of a counter or gauge, or the sum of a histogram.
type sample struct {
	labels map[string]string
	value  float64
}

// accept is the Accept header of requests for /metrics. It asks for the binary format of Prometheus, which costs the
// API server half as much CPU time as the text format. The CPU time of a trial includes this cost.
const accept = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited, " +
	"text/plain;version=0.0.4;q=0.5"

// fetchPage reads the /metrics page at the given URL. It returns nil without an error if the page does not exist or
// if the client may not read it.
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
	return nil, fmt.Errorf("reading %s: the response is %s", address, response.Status)
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
			return nil, fmt.Errorf("parsing a page of metrics: %w", err)
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
		default: // other types of metrics are not read
			continue
		}
		read = append(read, s)
	}
	return read
}
