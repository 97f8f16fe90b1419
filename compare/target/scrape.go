package target

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"coapply.dev/compare"
	"coapply.dev/compare/results"
)

// scrapeTimeout is the time limit for reading metrics. Under load, the API server needs a large fraction of a second to return them.
const scrapeTimeout = 15 * time.Second

// The metrics that are read from the pages of the API server and of etcd. The pages have thousands of other metrics.
const (
	cpuSeconds   = "process_cpu_seconds_total"
	startTime    = "process_start_time_seconds"
	etcdRequests = "etcd_requests_total"
)

// page maps the names of the wanted metrics of a /metrics page to their time series. It is nil if the page could not be read.
type page map[string][]*dto.Metric

// Snapshot contains the metrics of the API server and etcd at one moment.
type Snapshot struct{ apiserver, etcd page }

// Scrape reads the metrics of the API server and, on a local control plane, of etcd. A page that does not exist, or that
// the benchmark may not read, is missing in the Snapshot and is no error. It is an error if a server does not respond.
func (t *Target) Scrape(ctx context.Context) (s Snapshot, err error) {
	ctx, cancel := context.WithTimeout(ctx, scrapeTimeout)
	defer cancel()
	if !t.several {
		address, _, err := rest.DefaultServerUrlFor(t.admin)
		if err != nil {
			return s, fmt.Errorf("reading the API server's metrics: %w", err)
		}
		if s.apiserver, err = fetchPage(ctx, t.http, address.JoinPath("metrics").String()); err != nil {
			return s, fmt.Errorf("reading the API server's metrics: %w", err)
		}
	}
	if t.IsLocal() {
		if s.etcd, err = fetchPage(ctx, http.DefaultClient, processes{t.cluster.Dir()}.etcd()+"/metrics"); err != nil {
			return s, fmt.Errorf("reading etcd's metrics: %w", err)
		}
	}
	return s, nil
}

// manyServers reports whether the cluster has several API servers, each of which counts only its own requests. It
// counts the endpoints of the service kubernetes, and returns false if they cannot be read.
func (t *Target) manyServers(ctx context.Context) bool {
	list, err := t.set.DiscoveryV1().EndpointSlices(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{
		LabelSelector: discoveryv1.LabelServiceName + "=kubernetes",
	})
	return err == nil && slices.ContainsFunc(list.Items, func(s discoveryv1.EndpointSlice) bool { return len(s.Endpoints) > 1 })
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
		switch family.GetName() {
		case cpuSeconds, startTime, etcdRequests:
			read[family.GetName()] = family.GetMetric()
		}
	}
}

// Until returns the growth of the metrics from this snapshot to a later one of the same target. A value is nil if
// its metric is missing in a page, or if the server was restarted in between. Updates counts only requests for the
// given kinds, or for all kinds if none is given. The CPU times are those of the whole server, including work for
// other clients. Revisions and sizes are not set: the caller gets them from its watches.
func (before Snapshot) Until(after Snapshot, kinds ...compare.Kind) results.Server {
	return results.Server{
		APIServerCPU: grown(before.apiserver, after.apiserver, page.cpu),
		EtcdCPU:      grown(before.etcd, after.etcd, page.cpu),
		Updates:      grown(before.apiserver, after.apiserver, func(p page) *float64 { return p.updates(kinds) }),
	}
}

// grown returns the growth of a counter between two pages of the same process.
func grown(before, after page, of func(page) *float64) *float64 {
	from, to := of(before), of(after)
	if from == nil || to == nil || *to < *from || value(before[startTime]) != value(after[startTime]) {
		return nil
	}
	return new(*to - *from)
}

func (p page) cpu() *float64 {
	if len(p[cpuSeconds]) == 0 {
		return nil
	}
	return new(value(p[cpuSeconds]))
}

// updates returns the number of updates in etcd. The metric is missing on a page until something was counted.
func (p page) updates(kinds []compare.Kind) *float64 {
	all := p[etcdRequests]
	if p == nil || len(all) > 0 && label(all[0], "resource") == "" { // Kubernetes before 1.34 has other labels
		return nil
	}
	counted := slices.DeleteFunc(slices.Clone(all), func(m *dto.Metric) bool {
		return label(m, "operation") != "update" || len(kinds) > 0 && !slices.ContainsFunc(kinds, func(kind compare.Kind) bool {
			return label(m, "group") == kind.Group && label(m, "resource") == kind.Resource
		})
	})
	return new(value(counted))
}

// value returns the sum of the values of counters or gauges.
func value(metrics []*dto.Metric) (sum float64) {
	for _, m := range metrics {
		sum += m.GetCounter().GetValue() + m.GetGauge().GetValue() + m.GetUntyped().GetValue()
	}
	return sum
}

func label(m *dto.Metric, name string) string {
	for _, l := range m.GetLabel() {
		if l.GetName() == name {
			return l.GetValue()
		}
	}
	return ""
}
