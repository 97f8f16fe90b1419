package trial

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"coapply.dev/compare"
	"coapply.dev/compare/history"
)

// plain is a workload of one ConfigMap whose steps can be replaced.
type plain struct {
	next       func(ctx context.Context, writer, sequence int) (compare.Intent, bool, error)
	background func(context.Context) error
	fields     func(*unstructured.Unstructured) map[string]string
	cleaned    atomic.Bool
}

func newPlain() *plain {
	return &plain{
		next: func(_ context.Context, writer, sequence int) (compare.Intent, bool, error) {
			return intent(writer, sequence), true, nil
		},
		background: func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) },
		fields: func(o *unstructured.Unstructured) map[string]string {
			fields, _ := tracked(o)
			return fields
		},
	}
}

func intent(writer, sequence int) compare.Intent {
	return compare.Intent{
		Writer: writer, Sequence: sequence, Kind: configMapKind.GroupVersionKind, Namespace: "n", Name: "t", Manager: "m",
		Wants: map[string]string{"f": fmt.Sprintf("w%d-%d", writer, sequence)},
	}
}

func (*plain) Kinds() []compare.Kind { return []compare.Kind{configMapKind} }
func (p *plain) Next(ctx context.Context, writer, sequence int) (compare.Intent, bool, error) {
	return p.next(ctx, writer, sequence)
}
func (p *plain) Fields(o *unstructured.Unstructured) map[string]string { return p.fields(o) }
func (p *plain) Background(ctx context.Context) error                  { return p.background(ctx) }
func (*plain) Finish(context.Context) (map[string]float64, error) {
	return map[string]float64{"x": 1}, nil
}
func (p *plain) Clean(context.Context) error { p.cleaned.Store(true); return nil }
func (p *plain) workload() compare.Workload {
	return compare.Workload{Name: "plain", Prepare: func(context.Context, compare.Stage) (compare.Run, error) { return p, nil }}
}

// write is an arm in a function.
type write func(context.Context, compare.Intent) (compare.Receipt, error)

func (w write) Write(ctx context.Context, i compare.Intent) (compare.Receipt, error) {
	return w(ctx, i)
}

// put is an arm that overwrites.
func put(session compare.Session) (compare.Writer, error) {
	config := session.Config("m")
	config.GroupVersion, config.NegotiatedSerializer, config.APIPath = &schema.GroupVersion{Version: "v1"}, codecs, "/api"
	client, err := rest.RESTClientFor(config)
	return write(func(ctx context.Context, i compare.Intent) (compare.Receipt, error) {
		body := fmt.Sprintf(`{"data":{"f":%q}}`, i.Wants["f"])
		answer, err := client.Put().Namespace("n").Resource("configmaps").Name(i.Name).Body([]byte(body)).Do(ctx).Raw()
		if err != nil {
			return compare.Receipt{}, err
		}
		var o unstructured.Unstructured
		err = o.UnmarshalJSON([]byte(strings.Replace(string(answer), "{", `{"kind":"ConfigMap",`, 1)))
		return compare.Receipt{ResourceVersion: o.GetResourceVersion()}, err
	}), err
}

func rounds(p *plain, n int) Spec {
	return Spec{
		ID: "1", Workload: p.workload(), Arm: compare.Arm{Name: "put", New: put}, Seed: 1,
		Cell: compare.Cell{Workload: "plain", Parameters: compare.Parameters{Writers: 2, Rounds: n}},
	}
}

func TestATrial(t *testing.T) {
	f, p := newFakeServer(t), newPlain()
	f.set("t", "start")
	got, err := run(t.Context(), f.place(), rounds(p, 20))
	if err != nil {
		t.Fatal(err)
	}
	tr := got.Trial
	if tr.Void != "" || tr.All.Landed != 40 || tr.Timed.Landed != 40 || tr.Oracle.Acknowledged != 40 || tr.Oracle.Found != 40 {
		t.Errorf("void %q, %+v, %+v", tr.Void, tr.All, tr.Oracle)
	}
	if tr.Oracle.LostUpdates() != 0 || tr.Server.Revisions != 40 || tr.Server.APIServerCPU != nil {
		t.Errorf("%+v, %+v", tr.Oracle, tr.Server)
	}
	if n := tr.Client.Requests; !maps.Equal(n, map[string]int{"PUT 200": 40}) {
		t.Errorf("requests %v", n)
	}
	if tr.Server.ObjectBytes != len(configMap("t", 41, "w1-19")) || tr.Server.ManagedFieldsBytes != len("[{}]") {
		t.Errorf("%d bytes, %d of managed fields", tr.Server.ObjectBytes, tr.Server.ManagedFieldsBytes)
	}
	if len(got.History.Versions) != 41 || tr.Extra["x"] != 1 || !p.cleaned.Load() {
		t.Errorf("%d versions, extra %v, cleaned %t", len(got.History.Versions), tr.Extra, p.cleaned.Load())
	}
	if tr.Measured <= 0 || tr.Client.Busy <= 0 || tr.Client.CPU < 0 {
		t.Errorf("measured %s, busy %s, CPU %f", tr.Measured, tr.Client.Busy, tr.Client.CPU)
	}
}

// Whatever goes wrong, there is a trial that says so, and what it created is cleaned up.
func TestTrialsThatAreVoid(t *testing.T) {
	boom := func(compare.Session) (compare.Writer, error) {
		return write(func(context.Context, compare.Intent) (compare.Receipt, error) {
			var none []int
			return compare.Receipt{ResourceVersion: fmt.Sprint(none[0])}, nil
		}), nil
	}
	for name, c := range map[string]struct {
		breaks func(*fakeServer, *plain, *Spec)
		want   string
	}{
		"the arm panics": {func(_ *fakeServer, _ *plain, s *Spec) { s.Arm.New = boom },
			"arm put panicked at run_test.go:"},
		"the arm does not start": {func(_ *fakeServer, _ *plain, s *Spec) {
			s.Arm.New = func(compare.Session) (compare.Writer, error) { return nil, errors.New("no cache") }
		}, "starting arm put: no cache"},
		"Prepare panics": {func(_ *fakeServer, p *plain, s *Spec) {
			s.Workload.Prepare = func(context.Context, compare.Stage) (compare.Run, error) {
				return p, fmt.Errorf("half: %v", []int{}[len(s.ID)])
			}
		}, "preparing the trial's objects: workload plain panicked at run_test.go:"},
		"Prepare fails": {func(_ *fakeServer, p *plain, s *Spec) {
			s.Workload.Prepare = func(context.Context, compare.Stage) (compare.Run, error) { return p, errors.New("forbidden") }
		}, "preparing the trial's objects: forbidden"},
		"Next fails": {func(_ *fakeServer, p *plain, _ *Spec) {
			p.next = func(context.Context, int, int) (compare.Intent, bool, error) {
				return compare.Intent{}, false, errors.New("no object")
			}
		}, "no object"},
		"Next panics": {func(_ *fakeServer, p *plain, _ *Spec) {
			p.next = func(context.Context, int, int) (compare.Intent, bool, error) { panic("next") }
		}, "workload plain panicked at run_test.go:"},
		"Fields panics": {func(_ *fakeServer, p *plain, _ *Spec) {
			p.fields = func(*unstructured.Unstructured) map[string]string { panic("fields") }
		}, "workload plain panicked at run_test.go:"},
		"Background fails": {func(_ *fakeServer, p *plain, s *Spec) {
			p.background, s.Cell.Rounds = func(context.Context) error { return errors.New("foreign") }, 1e9
		}, "running Run.Background of the workload: foreign"},
		"the arm tells no revision": {func(_ *fakeServer, _ *plain, s *Spec) {
			s.Arm.New = func(compare.Session) (compare.Writer, error) {
				return write(func(context.Context, compare.Intent) (compare.Receipt, error) { return compare.Receipt{}, nil }), nil
			}
		}, `with resourceVersion "" its write cannot be found`},
		"the watch is lost": {func(f *fakeServer, _ *plain, s *Spec) {
			f.stream, s.Cell.Rounds = func(w http.ResponseWriter, _ string) { w.WriteHeader(http.StatusGone) }, 1e9
		}, "the watch of configmaps missed versions of objects"},
		"the server goes away": {func(f *fakeServer, p *plain, s *Spec) {
			s.Cell.Rounds = 1e9
			p.next = func(_ context.Context, writer, sequence int) (compare.Intent, bool, error) {
				if sequence == 10 {
					f.CloseClientConnections()
					_ = f.Listener.Close()
				}
				return intent(writer, sequence), true, nil
			}
		}, "connect: connection refused"},
		"no answer at all": {func(f *fakeServer, _ *plain, s *Spec) {
			s.Cell.Rounds = 1
			s.Arm.New = func(session compare.Session) (compare.Writer, error) {
				_ = f.Listener.Close()
				return put(session)
			}
		}, "the API server could not be reached: 0 requests had an answer"},
	} {
		t.Run(name, func(t *testing.T) {
			f, p := newFakeServer(t), newPlain()
			f.set("t", "start")
			spec := rounds(p, 3)
			c.breaks(f, p, &spec)
			got, err := run(t.Context(), f.place(), spec)
			if err != nil {
				t.Fatal(err)
			}
			if void := got.Trial.Void; !strings.Contains(void, c.want) || strings.Contains(void, "\n") {
				t.Errorf("void: %q, want one line with %q", void, c.want)
			}
			if prepared := !strings.Contains(name, "Prepare panics"); p.cleaned.Load() != prepared {
				t.Errorf("cleaned: %t", p.cleaned.Load())
			}
		})
	}
}

func TestAnInterruptedTrialKeepsWhatWasMeasured(t *testing.T) {
	f, p := newFakeServer(t), newPlain()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p.next = func(_ context.Context, writer, sequence int) (compare.Intent, bool, error) {
		if writer == 0 && sequence == 5 {
			cancel()
		}
		return intent(writer, sequence), true, nil
	}
	got, err := run(ctx, f.place(), rounds(p, 1e9))
	if err != nil || got.Trial.Void != "interrupted" || got.Trial.All.Landed < 5 || got.Trial.Oracle.LostUpdates() != 0 || !p.cleaned.Load() {
		t.Errorf("error %v, void %q, %+v, cleaned %t", err, got.Trial.Void, got.Trial.All, p.cleaned.Load())
	}
	p = newPlain()
	if _, err := run(ctx, f.place(), rounds(p, 3)); !errors.Is(err, context.Canceled) {
		t.Errorf("nothing was measured, but the error is %v", err)
	}
}

// An arrival is served when a writer is idle, and its latency counts from when it came.
func TestOpenLoop(t *testing.T) {
	f, p := newFakeServer(t), newPlain()
	spec := rounds(p, 0)
	spec.Cell.Writers, spec.Cell.Rate, spec.Cell.Duration = 1, 1000, 100*time.Millisecond
	got, err := run(t.Context(), f.place(), spec)
	if err != nil || got.Trial.Void != "" {
		t.Fatal(err, got.Trial.Void)
	}
	drawn := len(newArrivals(1000, 100*time.Millisecond, (&trial{Spec: spec}).random(arrivalNumbers)).times)
	if n := got.Trial.Open.Arrived; n != drawn || got.Trial.All.Landed == 0 || got.Trial.All.Intents > n {
		t.Errorf("%d arrivals, %d served, of %d", n, got.Trial.All.Intents, drawn)
	}
}

func TestGivenUpIntentsCount(t *testing.T) {
	f, p := newFakeServer(t), newPlain()
	f.refuse = http.StatusConflict
	got, err := run(t.Context(), f.place(), rounds(p, 3))
	if err != nil || got.Trial.Void != "" {
		t.Fatal(err, got.Trial.Void)
	}
	if tr := got.Trial; tr.All.GaveUp != 6 || tr.Latency.NotLanded != 6 || tr.Latency.Histogram != "" || tr.Client.StaleWrites != 6 {
		t.Errorf("%+v, latency %+v, %d stale writes", tr.All, tr.Latency, tr.Client.StaleWrites)
	}
	for _, o := range got.History.Operations {
		if o.Outcome != history.GaveUp || o.Error == "" || o.Revision != "" {
			t.Errorf("%+v", o)
		}
	}
}
