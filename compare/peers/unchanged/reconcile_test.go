package unchanged

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"

	"coapply.dev/apply"
	"coapply.dev/compare/workloads/deployment"
)

// setup is what is timed: versions of one Deployment, which differ by what others wrote, and not in what m0 owns. The last
// of them is in the cache.
type setup struct {
	*World

	name     string
	versions []*appsv1.Deployment
}

func prepared(t testing.TB, w *World) setup {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s := setup{World: w, name: "timed"}
	if err := deployment.Prepare(ctx, w.Admin, w.Namespace, s.name, deployment.Managers); err != nil {
		t.Fatal(err)
	}
	last := ""
	for n := range 8 {
		live := &appsv1.Deployment{}
		err := w.Disturbed(ctx, s.name, n)
		if err := errors.Join(err, w.Admin.Get(ctx, types.NamespacedName{Namespace: w.Namespace, Name: s.name}, live)); err != nil {
			t.Fatal(err)
		}
		s.versions, last = append(s.versions, live), live.ResourceVersion
	}
	for version := ""; version != last; {
		var err error
		if version, err = w.Changed(ctx, s.name, version); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// timed runs a benchmark of a function that must not send anything, n counting from 0.
func timed(b *testing.B, name string, counter *Counter, call func(ctx context.Context, n int) error) {
	b.Helper()
	b.Run(name, func(b *testing.B) {
		b.ReportAllocs()
		for n := 0; b.Loop(); n++ {
			if err := call(b.Context(), n); err != nil {
				b.Fatal(err)
			}
		}
		if sent := counter.Take(); len(sent) > 0 {
			b.Errorf("it sent %v", sent)
		}
	})
}

// BenchmarkReconcile times what a reconcile with nothing to change costs its own process, on a Deployment as the API server
// returned it: those of each peer that need no request, emission included; one of coapply.For; and the checks of a
// Deployment after another manager's write by themselves.
func BenchmarkReconcile(b *testing.B) {
	w, local := opened(b)
	s := prepared(b, w)
	for _, p := range all() {
		if p.Silent {
			s.reconcile(b, p)
		}
	}
	frontDoor(b, s, local)
	s.check(b)
	nothing := &Counter{}
	wanted := deployment.Intent(s.Namespace, s.name, 0, deployment.Start)
	timed(b, "check/Extract + DeepEqual", nothing, func(_ context.Context, n int) error {
		same, err := Extracted(s.versions[n%len(s.versions)], deployment.Workload, wanted)
		if err == nil && !same {
			err = errors.New("what is owned differs from what is wanted")
		}
		return err
	})
	known := NewVersions() // which finds out that it does not know this version: it sends then
	timed(b, "check/resourceVersion cache", nothing, func(_ context.Context, n int) error {
		_, err := known.Knows(wanted, s.versions[n%len(s.versions)])
		return err
	})
}

// reconcile is a peer's, from the cache.
func (s setup) reconcile(b *testing.B, p Peer) {
	b.Helper()
	process, counter, err := s.Process(deployment.Workload)
	if err != nil {
		b.Fatal(err)
	}
	reconcile, err := p.New(process)
	if err != nil {
		b.Fatal(err)
	}
	once := func(ctx context.Context, _ int) error {
		return reconcile(ctx, deployment.Intent(s.Namespace, s.name, 0, deployment.Start))
	}
	if err := once(b.Context(), 0); err != nil { // the first may have to learn
		b.Fatal(err)
	}
	counter.Take()
	timed(b, p.Name, counter, once)
}

// check is Applier.Apply with the object given, at another version each time.
func (s setup) check(b *testing.B) {
	b.Helper()
	process, counter, err := s.Process(deployment.Workload)
	if err != nil {
		b.Fatal(err)
	}
	steady, err := apply.NewSteadyState(s.Cache, s.Schemas)
	if err != nil {
		b.Fatal(err)
	}
	a, err := apply.New(process.Client, apply.Config{FieldManager: process.Manager, LiveReader: process.Live, Steady: steady})
	if err != nil {
		b.Fatal(err)
	}
	wanted := deployment.Intent(s.Namespace, s.name, 0, deployment.Start)
	check := func(ctx context.Context, n int) error {
		outcome, err := a.Apply(ctx, apply.Intent{Config: wanted, Read: s.versions[n%len(s.versions)]})
		if err == nil && outcome.Action != apply.Unchanged {
			err = fmt.Errorf("it was %s", outcome.Action)
		}
		return err
	}
	if err := check(b.Context(), 0); err != nil {
		b.Fatal(err)
	}
	timed(b, "check/with the intent's encoding", counter, check)
}
