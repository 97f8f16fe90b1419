package peers

import (
	"context"
	"errors"
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"

	"coapply.dev/apply"
	"coapply.dev/compare/workloads/deployment"
)

// BenchmarkReconcile measures the time of a reconcile that has nothing to change, and thus sends nothing, on a Deployment
// as the API server returned it. It measures whole reconciles of the silent peers and of coapply.For, the emission of the
// intent included. Its part "check" measures only the check of a Deployment that another field manager has changed.
func BenchmarkReconcile(b *testing.B) {
	w := newWorld(b)
	const name = "timed"
	wanted := deployment.Intent(w.Namespace(), name, 0, deployment.Start)
	changed := w.changedByOthers(b, name)
	for _, p := range peers() {
		if !p.silent {
			continue
		}
		reconcile, err := p.start(w)
		fatal(b, err)
		once := func(ctx context.Context, _ int) error {
			return reconcile(ctx, deployment.Intent(w.Namespace(), name, 0, deployment.Start))
		}
		fatal(b, once(b.Context(), 0)) // the first call may send requests
		w.timed(b, p.name, once)
	}
	frontDoor(b, w)

	a, err := newApplier(w)
	fatal(b, err)
	check := func(ctx context.Context, n int) error {
		outcome, err := a.Apply(ctx, apply.Intent{Config: wanted, Read: changed[n%len(changed)]})
		if err == nil && outcome.Action != apply.Unchanged {
			err = fmt.Errorf("the apply was %s", outcome.Action)
		}
		return err
	}
	fatal(b, check(b.Context(), 0))
	w.timed(b, "check/coapply", check)
	w.timed(b, "check/Extract + DeepEqual", func(_ context.Context, n int) error {
		same, err := extracted(changed[n%len(changed)], wanted)
		if err == nil && !same {
			err = errors.New("the owned fields differ from the wanted fields")
		}
		return err
	})
	known := newVersions() // does not know these versions: the peer would then send an apply
	w.timed(b, "check/resourceVersion cache", func(_ context.Context, n int) error {
		_, _, err := known.has(wanted, changed[n%len(changed)].ResourceVersion)
		return err
	})
}

// changedByOthers creates a Deployment, and returns its versions after some writes by other field managers. The fields of the
// measured field manager are the same in all versions. The cache then has the last version.
func (w *world) changedByOthers(t testing.TB, name string) (versions []*appsv1.Deployment) {
	t.Helper()
	fatal(t, deployment.Prepare(t.Context(), w.admin, w.Namespace(), name))
	last := ""
	for n := range 8 {
		live := &appsv1.Deployment{}
		fatal(t, w.writeAsOther(t.Context(), name, n))
		fatal(t, w.admin.Get(t.Context(), types.NamespacedName{Namespace: w.Namespace(), Name: name}, live))
		versions, last = append(versions, live), live.ResourceVersion
	}
	for version := ""; version != last; {
		version = w.changed(t, name, version)
	}
	return versions
}

// timed benchmarks a function that must not send any request. n counts its calls from 0.
func (w *world) timed(b *testing.B, name string, call func(ctx context.Context, n int) error) {
	b.Helper()
	b.Run(name, func(b *testing.B) {
		b.ReportAllocs()
		w.sent.all.Store(0)
		for n := 0; b.Loop(); n++ {
			if err := call(b.Context(), n); err != nil {
				b.Fatal(err)
			}
		}
		if sent := w.sent.all.Load(); sent > 0 {
			b.Errorf("%d requests were sent, want none", sent)
		}
	})
}
