package peers

import (
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"coapply.dev/compare/workloads/deployment"
)

// whileOthersWrite makes a peer reconcile a Deployment that is as wanted, while other field managers write to the Deployment all
// the time. Before each reconcile the Deployment has got a new resourceVersion. whileOthersWrite returns the number of
// requests that the peer sent, and the number of writes by others.
func whileOthersWrite(t testing.TB, w *world, p peer, more func() bool) (requests, foreign int) {
	t.Helper()
	name := "unchanged-" + time.Now().Format("150405.000000000")
	fatal(t, deployment.Prepare(t.Context(), w.admin, w.Namespace(), name))
	w.sent.all.Store(0)
	reconcile, err := p.start(w)
	fatal(t, err)
	end := w.disturb(t.Context(), name)
	for version := ""; more(); {
		version = w.changed(t, name, version)
		err := reconcile(t.Context(), deployment.Intent(w.Namespace(), name, 0, deployment.Start))
		if !apierrors.IsConflict(err) { // a controller reconciles again after a stale write
			fatal(t, err)
		}
	}
	return int(w.sent.all.Load()), end()
}

// TestRequests checks how many requests each peer sends in reconciles that have nothing to change, each after a write by
// another field manager.
func TestRequests(t *testing.T) {
	w := newWorld(t)
	const number = 12
	for _, p := range peers() {
		least, most := number, number // one request for each reconcile
		switch p.name {
		case ours, "Extract + DeepEqual", "CreateOrUpdate":
			least, most = 0, 0
		case "fluxcd/pkg/ssa": // a GET, a dry run, and an apply if others wrote in between
			least, most = 2*number, 3*number
		case "resourceVersion cache": // the new resourceVersion may be that of its own apply
			least = number / 3
		}
		t.Run(p.name, func(t *testing.T) {
			done := 0
			sent, foreign := whileOthersWrite(t, w, p, func() bool { done++; return done <= number })
			if sent < least || sent > most || foreign == 0 {
				t.Errorf("sent %d requests, want %d to %d; others made %d writes, want some", sent, least, most, foreign)
			}
		})
	}
}

// BenchmarkRequests reports the number of requests for a reconcile that has nothing to change, while others write.
func BenchmarkRequests(b *testing.B) {
	w := newWorld(b)
	for _, p := range peers() {
		b.Run(p.name, func(b *testing.B) {
			sent, _ := whileOthersWrite(b, w, p, b.Loop)
			b.ReportMetric(float64(sent)/float64(b.N), "requests/op")
			b.ReportMetric(0, "ns/op") // depends on the pace of the others
		})
	}
}
