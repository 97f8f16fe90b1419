package ownership

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/ownership"
	"coapply.dev/test/kit"
)

const (
	transferRaces   = 24
	writesOfEachOne = 6
)

// staleCounter counts answers 409 to JSON patches, which only transfers send here.
type staleCounter struct {
	http.RoundTripper

	stale *atomic.Int64
}

func (s staleCounter) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := s.RoundTripper.RoundTrip(request)
	if err == nil && response.StatusCode == http.StatusConflict && request.Header.Get("Content-Type") == string(types.JSONPatchType) {
		s.stale.Add(1)
	}
	return response, err
}

// transferRace is one Deployment that four managers go on writing, each its own
// field: by apply, by apply of status, by update and by update of status. Meanwhile
// what "old" updated and "former" applied goes to "us", and often back again.
type transferRace struct {
	c         client.Client
	namespace string
	name      string
	stale     atomic.Int64
}

type racer struct {
	manager string
	owner   string // as fieldsBy shows it
	path    string
	write   func(ctx context.Context, c client.Client, value int) error
}

func (r *transferRace) racers() []racer {
	object := func() client.Object {
		return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: r.name}}
	}
	merge := func(format string, value int) client.Patch {
		return client.RawPatch(types.MergePatchType, fmt.Appendf(nil, format, value))
	}
	return []racer{
		{"applier", "Apply", ".metadata.labels.applier", func(ctx context.Context, c client.Client, value int) error {
			config := appsv1ac.Deployment(r.name, r.namespace).WithLabels(map[string]string{"applier": fmt.Sprint(value)})
			return c.Apply(ctx, config, client.FieldOwner("applier"))
		}},
		{"status-applier", "Apply[status]", ".status.replicas", func(ctx context.Context, c client.Client, value int) error {
			config := appsv1ac.Deployment(r.name, r.namespace).WithStatus(appsv1ac.DeploymentStatus().WithReplicas(int32(value)))
			return c.Status().Apply(ctx, config, client.FieldOwner("status-applier"))
		}},
		{"updater", "Update", ".metadata.labels.updater", func(ctx context.Context, c client.Client, value int) error {
			return c.Patch(ctx, object(), merge(`{"metadata":{"labels":{"updater":"%d"}}}`, value), client.FieldOwner("updater"))
		}},
		{"status-updater", "Update[status]", ".status.observedGeneration", func(ctx context.Context, c client.Client, value int) error {
			return c.Status().Patch(ctx, object(), merge(`{"status":{"observedGeneration":%d}}`, value), client.FieldOwner("status-updater"))
		}},
	}
}

// TestTransferRaces holds that nobody loses a field or a value to a transfer.
func TestTransferRaces(t *testing.T) {
	race := &transferRace{}
	config := rest.CopyConfig(kit.Server(t))
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return staleCounter{next, &race.stale} })
	race.c = kit.NewClient(t, config)
	race.namespace = kit.NewNamespace(t, race.c)
	ends := map[string]int{}
	for i := range transferRaces {
		race.name = fmt.Sprintf("race-%d", i)
		race.run(t, i, ends)
		if t.Failed() {
			t.Fatalf("race %d", i)
		}
	}
	t.Logf("%d races, %d stale writes, ends: %v", transferRaces, race.stale.Load(), ends)
	if ends["done"] < transferRaces/4 || ends["undone"] == 0 || race.stale.Load() < transferRaces/4 {
		t.Error("too little was done, or raced, to show anything")
	}
}

func (r *transferRace) run(t *testing.T, i int, ends map[string]int) {
	t.Helper()
	old := kit.WithEnv(r.name, r.namespace)
	var created appsv1.Deployment
	kit.CreateClientSide(t, r.c, old, &created)
	former := appsv1ac.Deployment(r.name, r.namespace).WithLabels(map[string]string{"former": "1", "both": "1"})
	if err := r.c.Apply(t.Context(), former, client.FieldOwner("former")); err != nil {
		t.Fatal(err)
	}
	before := kit.FieldsBy(t, kit.LiveAt(t, r.c, kit.DeploymentRef(r.namespace, r.name)).GetManagedFields())
	us := kit.NewApplier(t, r.c, "us", apply.Policy{})
	transfer, err := ownership.Migrate(t.Context(), us, kit.DeploymentRef(r.namespace, r.name), ownership.From{Manager: kit.ClientSide})
	if i%2 == 1 {
		transfer, err = ownership.Rename(t.Context(), us, kit.DeploymentRef(r.namespace, r.name), ownership.From{Manager: "former"})
	}
	if err != nil {
		t.Fatal(err)
	}
	// Anywhere from the first write to the last: who writes after us takes his field
	// anew, and would not show what we did to it.
	racers := r.racers()
	written := make(chan struct{}, len(racers)*writesOfEachOne)
	var writers sync.WaitGroup
	for _, racer := range racers {
		writers.Go(func() {
			for value := range writesOfEachOne {
				if err := racer.write(t.Context(), r.c, value+1); err != nil {
					t.Errorf("%s: %v", racer.manager, err)
				}
				written <- struct{}{}
			}
		})
	}
	for range 1 + rand.N(cap(written)) {
		<-written
	}
	undo, end := r.end(t, transfer, "done")
	ends[end]++
	if i%4 > 1 && undo != nil {
		_, back := r.end(t, undo, "undone")
		ends[back]++
		if back == "undone" {
			end = back
		}
	}
	writers.Wait()
	r.check(t, before, transfer, end)
}

// end does a transfer and names its end.
func (r *transferRace) end(t *testing.T, transfer *ownership.Transfer, done string) (*ownership.Transfer, string) {
	t.Helper()
	undo, err := transfer.Do(t.Context())
	switch {
	case err == nil:
		return undo, done
	case errors.Is(err, apply.ErrContended), errors.Is(err, apply.ErrStaleWrite), errors.Is(err, apply.ErrRetryable):
		return undo, apply.ResultOf(err)
	}
	t.Errorf("no typed error that such a race may end with: %v", err)
	return nil, ""
}

// check holds every manager's fields against what it wrote, and those of the
// transfer against how it ended.
func (r *transferRace) check(t *testing.T, before []string, transfer *ownership.Transfer, end string) {
	t.Helper()
	live := kit.LiveAt(t, r.c, kit.DeploymentRef(r.namespace, r.name))
	after := kit.FieldsBy(t, live.GetManagedFields())
	want := map[string]bool{}
	for _, line := range before {
		want[line] = true
	}
	if end == "done" {
		for _, m := range transfer.Moves() {
			delete(want, fmt.Sprintf("%s %s apps/v1", m.Path, m.From))
			want[fmt.Sprintf("%s %s apps/v1", m.Path, m.To)] = true
		}
	}
	for _, racer := range r.racers() {
		want[fmt.Sprintf("%s %s/%s apps/v1", racer.path, racer.manager, racer.owner)] = true
	}
	got := map[string]bool{}
	for _, line := range after {
		got[line] = true
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s, owners (-want +got):\n%s", end, diff)
	}
	var d appsv1.Deployment
	if err := r.c.Get(t.Context(), client.ObjectKeyFromObject(live), &d); err != nil {
		t.Fatal(err)
	}
	last := fmt.Sprint(writesOfEachOne)
	values := []string{d.Labels["applier"], d.Labels["updater"], fmt.Sprint(d.Status.Replicas), fmt.Sprint(d.Status.ObservedGeneration), d.Labels["team"], d.Labels["former"]}
	if diff := cmp.Diff([]string{last, last, last, last, "shop", "1"}, values); diff != "" || !strings.Contains(d.Spec.Template.Spec.Containers[0].Image, "v1") {
		t.Errorf("values (-want +got):\n%s", diff)
	}
}
