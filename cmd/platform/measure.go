package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// measurements are what the demo prints at its end.
type measurements struct {
	durations []measurement
	counters  counters
}

type measurement struct {
	what string
	took time.Duration
}

func (m *measurements) add(what string, took time.Duration) {
	m.durations = append(m.durations, measurement{what, took})
}

// counters of a manager, from its metrics.
type counters struct {
	applies, requests, conflicts, updates, staleWrites, exhausted float64
}

// count adds the counters of a manager that is about to end.
func (m *measurements) count(c counters) {
	m.counters.applies += c.applies
	m.counters.requests += c.requests
	m.counters.conflicts += c.conflicts
	m.counters.updates += c.updates
	m.counters.staleWrites += c.staleWrites
	m.counters.exhausted += c.exhausted
}

// metricsReader is the service account that may read the manager's metrics.
const metricsReader = "demo-metrics-reader"

// allowMetrics makes that account. It is done long before the metrics are read: the API
// server takes a moment to know a new right, and the manager remembers a refusal.
func (d *demonstration) allowMetrics(ctx context.Context) error {
	for _, args := range [][]string{
		{"create", "serviceaccount", metricsReader, "--namespace", namespace},
		{"create", "clusterrolebinding", metricsReader, "--clusterrole=coapply-metrics-reader", "--serviceaccount=" + namespace + ":" + metricsReader},
	} {
		if _, err := d.platform.kubectl(ctx, args...); err != nil {
			return err
		}
	}
	return nil
}

// counters reads the manager's metrics as a scraper does: over HTTPS, with a token
// that RBAC lets through.
func (d *demonstration) counters(ctx context.Context) (counters, error) {
	token, err := d.platform.token(ctx, metricsReader)
	if err != nil {
		return counters{}, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+d.platform.manager.metrics+"/metrics", http.NoBody)
	if err != nil {
		return counters{}, err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	transport := &http.Transport{TLSClientConfig: &tls.Config{
		InsecureSkipVerify: true, //nolint:gosec // the certificate is self-signed, and both ends are this machine
	}}
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return counters{}, fmt.Errorf("reading the manager's metrics: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return counters{}, fmt.Errorf("reading the manager's metrics: %s", response.Status)
	}
	return parseCounters(response.Body)
}

func parseCounters(exposition io.Reader) (counters, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(exposition)
	if err != nil {
		return counters{}, fmt.Errorf("reading the manager's metrics: %w", err)
	}
	return counters{
		applies:     total(families["coapply_apply_total"], ""),
		requests:    total(families["coapply_apply_requests_total"], ""),
		conflicts:   total(families["coapply_conflicts_total"], ""),
		updates:     total(families["coapply_update_total"], ""),
		staleWrites: total(families["coapply_stale_writes_total"], ""),
		exhausted:   total(families["coapply_update_total"], "Exhausted"),
	}, nil
}

// total adds up the counters of a family, those of one result if one is given.
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

func (d *demonstration) summary(ctx context.Context, _ io.Writer) error {
	d.show.step("What was measured",
		"Times on this machine, in this run; counts from the manager's own metrics.")
	now, err := d.counters(ctx)
	if err != nil {
		return err
	}
	d.measured.count(now)
	c := d.measured.counters
	for _, m := range d.measured.durations {
		d.show.print(fmt.Sprintf("%7.2f s  %s", m.took.Seconds(), m.what))
	}
	for _, row := range []struct {
		n    float64
		what string
	}{
		{c.applies, "intents applied"},
		{c.requests, "requests for them, reads to judge conflicts included"},
		{c.conflicts, "ownership conflicts decided"},
		{c.updates, "status and finalizer writes decided by get-modify-update"},
		{c.staleWrites, "stale writes among them, each retried"},
		{c.exhausted, "of them given up: strategy Update does, others come again"},
	} {
		d.show.print(fmt.Sprintf("%7.0f    %s", row.n, row.what))
	}
	if c.conflicts == 0 || c.applies == 0 {
		return fmt.Errorf("the manager counted %.0f intents and %.0f conflicts, and there were some", c.applies, c.conflicts)
	}
	return nil
}
