package target

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"coapply.dev/compare"
	"coapply.dev/compare/results"
)

// scrapeTimeout is the time limit for reading metrics. Under load, the API server needs a large fraction of a second to return them.
const scrapeTimeout = 15 * time.Second

// The metrics that are read from the pages of the API server and of etcd. The pages have thousands of other metrics.
const (
	cpuSeconds   = "process_cpu_seconds_total"
	etcdRequests = "etcd_requests_total"
	etcdVersion  = "etcd_server_version"
)

// page maps the names of the wanted metrics of a /metrics page to their time series. It is nil if the page could not be read.
type page map[string][]*dto.Metric

// Snapshot contains the metrics of the API server and etcd at one moment.
type Snapshot struct{ apiserver, etcd page }

// Scrape reads the metrics of the API server and etcd on a local control plane. A page that could not be read is missing
// in the Snapshot. On a cluster of the user, both pages are missing: there are often several API servers, and each counts
// only its own requests.
func (t *Target) Scrape(ctx context.Context) Snapshot {
	if !t.IsLocal() {
		return Snapshot{}
	}
	ctx, cancel := context.WithTimeout(ctx, scrapeTimeout)
	defer cancel()
	apiserver, _ := fetchPage(ctx, t.http, t.admin.Host+"/metrics")
	etcd, _ := fetchPage(ctx, http.DefaultClient, processes{t.cluster.Dir()}.etcd()+"/metrics")
	return Snapshot{apiserver, etcd}
}

// fetchPage reads the /metrics page at the given URL in the binary format of Prometheus, which costs the API server half as much
// CPU time as the text format. The CPU time of a trial includes this cost.
func fetchPage(ctx context.Context, client *http.Client, address string) (page, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", string(expfmt.NewFormat(expfmt.TypeProtoDelim)))
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("reading %s: the response is %s", address, response.Status)
	}
	return readPage(response.Body, expfmt.ResponseFormat(response.Header))
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
		case cpuSeconds, etcdRequests, etcdVersion:
			read[family.GetName()] = family.GetMetric()
		}
	}
}

// Until returns the growth of the metrics from this snapshot to a later one of the same target. A value is nil if one of
// its pages is missing, or if the server was restarted in between. Updates counts only requests for the given kinds. The
// CPU times are those of the whole server, including work for other clients. Revisions and sizes are not set: the caller
// gets them from its watches.
func (before Snapshot) Until(after Snapshot, kinds ...compare.Kind) results.Server {
	return results.Server{
		APIServerCPU: grown(before.apiserver, after.apiserver, page.cpu),
		EtcdCPU:      grown(before.etcd, after.etcd, page.cpu),
		Updates:      grown(before.apiserver, after.apiserver, func(p page) float64 { return p.updates(kinds) }),
	}
}

// grown returns the growth of a counter between two pages. A counter that fell shows that the server was restarted.
func grown(before, after page, of func(page) float64) *float64 {
	if before == nil || after == nil || of(after) < of(before) {
		return nil
	}
	return new(of(after) - of(before))
}

func (p page) cpu() (seconds float64) {
	for _, m := range p[cpuSeconds] {
		seconds += m.GetCounter().GetValue()
	}
	return seconds
}

// updates returns the number of updates of objects of these kinds in etcd. The metric is missing on a page until
// something was counted.
func (p page) updates(kinds []compare.Kind) (count float64) {
	for _, m := range p[etcdRequests] {
		labels := map[string]string{}
		for _, label := range m.GetLabel() {
			labels[label.GetName()] = label.GetValue()
		}
		for _, kind := range kinds {
			if labels["operation"] == "update" && labels["group"] == kind.Group && labels["resource"] == kind.Resource {
				count += m.GetCounter().GetValue()
			}
		}
	}
	return count
}
