package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"k8s.io/client-go/rest"
)

// measurements are what the demo prints at its end.
type measurements struct {
	durations []measurement
	counts    [6]float64 // of counters
}

type measurement struct {
	what string
	took time.Duration
}

func (m *measurements) add(what string, took time.Duration) {
	m.durations = append(m.durations, measurement{what, took})
}

// counters are what the demo shows of the manager's metrics.
var counters = [...]struct{ family, result, what string }{
	{"coapply_apply_total", "", "intents applied"},
	{"coapply_apply_requests_total", "", "requests for them, reads to judge conflicts included"},
	{"coapply_conflicts_total", "", "ownership conflicts decided"},
	{"coapply_update_total", "", "status and finalizer writes decided by get-modify-update"},
	{"coapply_stale_writes_total", "", "stale writes among them, each retried"},
	{"coapply_update_total", "Exhausted", "of them given up: strategy Update does, others come again"},
}

// metricsReader is the service account that may read the manager's metrics.
const metricsReader = "demo-metrics-reader"

// allowMetrics creates metricsReader. This is done long before the metrics are read: the API
// server takes a moment to know a new right, and the manager remembers a refusal.
func (d *demonstration) allowMetrics(ctx context.Context) {
	for _, args := range [][]string{
		{"create", "serviceaccount", metricsReader, "--namespace", namespace},
		{"create", "clusterrolebinding", metricsReader, "--clusterrole=coapply-metrics-reader", "--serviceaccount=" + namespace + ":" + metricsReader},
	} {
		must(d.platform.kubectl(ctx, args...))
	}
}

// count adds the counters of the manager, before that ends. It reads metrics as a scraper does:
// over HTTPS, with a token that RBAC allows.
func (d *demonstration) count(ctx context.Context) {
	token := must(d.platform.kubectl(ctx, "create", "token", metricsReader, "--namespace", namespace))
	request := must(http.NewRequestWithContext(ctx, http.MethodGet, "https://"+d.platform.manager.metrics+"/metrics", http.NoBody))
	scraper := must(rest.HTTPClientFor(&rest.Config{
		BearerToken:     strings.TrimSpace(token),
		TLSClientConfig: rest.TLSClientConfig{Insecure: true}, // the certificate is self-signed, and both ends are this machine
	}))
	response, err := scraper.Do(request)
	if err != nil {
		fail("reading the manager's metrics: %v", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		fail("reading the manager's metrics: %s", response.Status)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families := must(parser.TextToMetricFamilies(response.Body))
	for i, c := range counters {
		d.measured.counts[i] += total(families[c.family], c.result)
	}
}

// total returns the sum of the counters of a family, or of those with one result if one is
// given.
func total(family *dto.MetricFamily, result string) (sum float64) {
	for _, m := range family.GetMetric() {
		if result == "" || slices.ContainsFunc(m.GetLabel(), func(l *dto.LabelPair) bool {
			return l.GetName() == "result" && l.GetValue() == result
		}) {
			sum += m.GetCounter().GetValue()
		}
	}
	return sum
}

func (d *demonstration) summary(ctx context.Context) {
	d.show.step("What was measured",
		"Times on this machine, in this run; counts from the manager's own metrics.")
	d.count(ctx)
	for _, m := range d.measured.durations {
		d.show.print(fmt.Sprintf("%7.2f s  %s", m.took.Seconds(), m.what))
	}
	for i, c := range counters {
		d.show.print(fmt.Sprintf("%7.0f    %s", d.measured.counts[i], c.what))
	}
	if intents, conflicts := d.measured.counts[0], d.measured.counts[2]; conflicts == 0 || intents == 0 {
		fail("the manager counted %.0f intents and %.0f conflicts, and there were some", intents, conflicts)
	}
}
