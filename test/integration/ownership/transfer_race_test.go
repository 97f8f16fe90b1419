package ownership

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"
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
	besideRaces     = 8
	writesOfEachOne = 6
)

// transferRace is one Deployment that four managers go on writing, each its own
// field: by apply, by apply of status, by update and by update of status. Meanwhile
// what "old" updated and "former" applied goes to "us", and often back again.
type transferRace struct {
	c         client.Client
	namespace string
	name      string

	mu       sync.Mutex
	overtake int    // how many writes of transfers are still to be overtaken
	next     func() // the next write of a racer
	stale    int    // answers 409 to JSON patches, which only transfers send here
}

// wrap has a racer write right before a transfer does, as often as the race wants it.
func (r *transferRace) wrap(next http.RoundTripper) http.RoundTripper {
	return kit.RoundTripper(func(request *http.Request) (*http.Response, error) {
		transfers := request.Header.Get("Content-Type") == string(types.JSONPatchType)
		if transfers && r.isOvertaken() {
			r.next()
		}
		response, err := next.RoundTrip(request)
		if err == nil && response.StatusCode == http.StatusConflict && transfers {
			r.mu.Lock()
			r.stale++
			r.mu.Unlock()
		}
		return response, err
	})
}

func (r *transferRace) isOvertaken() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.overtake--
	return r.overtake >= 0
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

func newTransferRace(t *testing.T) *transferRace {
	t.Helper()
	race := &transferRace{}
	config := rest.CopyConfig(kit.Server(t))
	config.Wrap(race.wrap)
	race.c = kit.NewClient(t, config)
	race.namespace = kit.NewNamespace(t, race.c)
	return race
}

// TestTransferRaces holds that nobody loses a field or a value to a transfer that others overtake: never, once, three times,
// or each time it tries.
func TestTransferRaces(t *testing.T) {
	t.Parallel()
	race, ends := newTransferRace(t), map[string]int{}
	for i, overtake := range []int{0, 1, 3, 8} {
		for _, rename := range []bool{false, true} {
			for back, overtakeBack := range []int{-1, 0, 2} { // -1: it does not go back
				race.name = fmt.Sprintf("race-%d-%t-%d", i, rename, back)
				transfer, before := race.begin(t, rename)
				rest := race.inTurn(t)
				race.overtake = overtake
				undo, end := race.end(t, transfer, "done")
				ends[end]++
				if undo != nil && overtakeBack >= 0 {
					race.overtake = overtakeBack
					_, end = race.end(t, undo, "undone")
					ends[end]++
				}
				rest()
				race.check(t, before, transfer, end)
			}
		}
	}
	want := map[string]int{"done": 18, "undone": 12, "Contended": 6}
	if wantStale := 6*(0+1+3+8) + 3*2*2; !maps.Equal(ends, want) || race.stale != wantStale {
		t.Errorf("ends %v, %d stale writes; want %v, %d", ends, race.stale, want, wantStale)
	}
}

// TestTransferBesideWriters is TestTransferRaces with all of them writing at once: how such a race ends is chance, and
// nobody loses anything.
func TestTransferBesideWriters(t *testing.T) {
	t.Parallel()
	race, ends := newTransferRace(t), map[string]int{}
	for i := range besideRaces {
		race.name = fmt.Sprintf("race-%d", i)
		transfer, before := race.begin(t, i%2 == 1)
		var writers sync.WaitGroup
		for _, racer := range race.racers() {
			writers.Go(func() {
				for value := range writesOfEachOne {
					if err := racer.write(t.Context(), race.c, value+1); err != nil {
						t.Errorf("%s: %v", racer.manager, err)
					}
				}
			})
		}
		undo, end := race.end(t, transfer, "done")
		ends[end]++
		if undo != nil && i%4 > 1 {
			_, back := race.end(t, undo, "undone")
			ends[back]++
			if back == "undone" {
				end = back
			}
		}
		writers.Wait()
		race.check(t, before, transfer, end)
	}
	t.Logf("%d races, %d stale writes, ends: %v", besideRaces, race.stale, ends)
}

// begin makes the Deployment and the transfer.
func (r *transferRace) begin(t *testing.T, rename bool) (transfer *ownership.Transfer, before []string) {
	t.Helper()
	var created appsv1.Deployment
	kit.CreateClientSide(t, r.c, kit.WithEnv(r.name, r.namespace), &created)
	former := appsv1ac.Deployment(r.name, r.namespace).WithLabels(map[string]string{"former": "1", "both": "1"})
	if err := r.c.Apply(t.Context(), former, client.FieldOwner("former")); err != nil {
		t.Fatal(err)
	}
	before = kit.FieldsBy(t, kit.LiveAt(t, r.c, kit.DeploymentRef(r.namespace, r.name)).GetManagedFields())
	us := kit.NewApplier(t, r.c, "us", apply.Policy{})
	transfer, err := ownership.Migrate(t.Context(), us, kit.DeploymentRef(r.namespace, r.name), ownership.From{Manager: kit.ClientSide})
	if rename {
		transfer, err = ownership.Rename(t.Context(), us, kit.DeploymentRef(r.namespace, r.name), ownership.From{Manager: "former"})
	}
	if err != nil {
		t.Fatal(err)
	}
	return transfer, before
}

// inTurn has the racers write one after another, a write whenever a transfer is overtaken. rest does all other writes.
func (r *transferRace) inTurn(t *testing.T) (rest func()) {
	t.Helper()
	racers, written := r.racers(), 0
	r.next = func() {
		racer := racers[written%len(racers)]
		if err := racer.write(t.Context(), r.c, written/len(racers)+1); err != nil {
			t.Errorf("%s: %v", racer.manager, err)
		}
		written++
	}
	return func() {
		for written < len(racers)*writesOfEachOne {
			r.next()
		}
	}
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
