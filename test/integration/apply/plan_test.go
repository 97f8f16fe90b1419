package apply

import (
	"errors"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/fieldowners"
	"coapply.dev/test/kit"
)

// dryRuns fails the test for each write that is no dry run while it is watching,
// and counts those that are.
type dryRuns struct {
	next     http.RoundTripper
	t        *testing.T
	mu       sync.Mutex
	watching bool
	counted  int
}

func (d *dryRuns) RoundTrip(request *http.Request) (*http.Response, error) {
	d.mu.Lock()
	if d.watching && request.Method != http.MethodGet {
		d.counted++
		if request.URL.Query().Get("dryRun") != "All" {
			d.t.Errorf("a plan sent %s %s", request.Method, request.URL)
		}
	}
	d.mu.Unlock()
	return d.next.RoundTrip(request)
}

func (d *dryRuns) watch(on bool) (counted int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	counted, d.counted, d.watching = d.counted, 0, on
	return counted
}

// TestPlanTellsWhatApplyDoes compares values and owners after the apply with those
// that were planned.
func TestPlanTellsWhatApplyDoes(t *testing.T) {
	watched := &dryRuns{t: t}
	config := rest.CopyConfig(kit.Server(t))
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { watched.next = next; return watched })
	c := kit.NewClient(t, config)
	namespace := kit.NewNamespace(t, c)
	for name, test := range planCases(namespace) {
		t.Run(name, func(t *testing.T) {
			t.Log(test.reason)
			watched.t = t
			kit.MustApply(t, kit.NewApplier(t, c, "owner", apply.Policy{}), test.exists...)
			kit.MustApply(t, kit.NewApplier(t, c, "scaler", apply.Policy{}), test.scaled...)
			kit.MustApply(t, kit.NewApplier(t, c, "us", apply.Policy{}), test.before...)
			us, err := apply.New(c, apply.Config{FieldManager: "us", LiveReader: c, Policy: test.policy})
			if err != nil {
				t.Fatal(err)
			}
			object := kit.RefOf("apps/v1", "Deployment", namespace, name)
			before := snapshot(t, c, object)

			watched.watch(true)
			plan, err := us.Plan(t.Context(), test.intent)
			if sent := watched.watch(false); err != nil || sent == 0 && test.want == apply.Configured {
				t.Fatalf("%v after %d dry runs", err, sent)
			}
			if now := snapshot(t, c, object); now.version != before.version {
				t.Errorf("at resourceVersion %q after the plan, %q before it", now.version, before.version)
			}
			checkPlan(t, test, plan)

			outcome, err := us.Apply(t.Context(), test.intent)
			if !errors.Is(err, test.refused) || err != nil && test.refused == nil {
				t.Fatalf("applied: %v", err)
			}
			if test.refused != nil && plan.Refused.Error() != err.Error() {
				t.Errorf("planned to be refused with\n%v\nand was with\n%v", plan.Refused, err)
			}
			if test.want != apply.Unchanged && outcome.Action != plan.Action { // an outcome may not know that nothing changed
				t.Errorf("%s was planned, %s done", plan.Action, outcome.Action)
			}
			comparePlan(t, plan, before, snapshot(t, c, object), test.intent.Body == nil)
		})
	}
}

func checkPlan(t *testing.T, test planCase, plan apply.Plan) {
	t.Helper()
	if plan.Action != test.want || !errors.Is(plan.Refused, test.refused) || test.refused == nil && plan.Refused != nil {
		t.Errorf("planned %q (%v), want %q (%v)", plan.Action, plan.Refused, test.want, test.refused)
	}
	text := plan.String()
	for _, part := range test.says {
		if !strings.Contains(text, part) {
			t.Errorf("the text lacks %q:\n%s", part, text)
		}
	}
}

// counted are changes that no plan tells of.
var counted = regexp.MustCompile(`^\.(apiVersion|kind|metadata\.(name|namespace|uid|resourceVersion|generation|creationTimestamp|managedFields)\b)`)

// state is an object as far as a plan tells of it.
type state struct {
	version string
	object  any
	owners  fieldowners.Ownership
}

func snapshot(t *testing.T, c client.Client, object apply.ObjectRef) state {
	t.Helper()
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(object.GroupVersionKind)
	switch err := c.Get(t.Context(), object.NamespacedName, live); {
	case client.IgnoreNotFound(err) != nil:
		t.Fatal(err)
	case err != nil:
		return state{}
	}
	owners, err := fieldowners.Parse(live.GetManagedFields())
	if err != nil {
		t.Fatal(err)
	}
	return state{live.GetResourceVersion(), live.Object, owners}
}

// comparePlan holds the plan's changes and owners against what happened, found
// by the same comparison of two reads.
func comparePlan(t *testing.T, plan apply.Plan, before, after state, owners bool) {
	t.Helper()
	var happened []string
	for _, change := range fieldowners.Changes(before.object, after.object, before.owners, after.owners) {
		if text := change.String(); !counted.MatchString(text) {
			happened = append(happened, text)
		}
	}
	var planned []string
	for _, change := range plan.Changes {
		planned = append(planned, change.String())
	}
	if diff := cmp.Diff(happened, planned); diff != "" {
		t.Errorf("changes (-happened +planned):\n%s", diff)
	}
	if !owners {
		return
	}
	if diff := cmp.Diff(fieldowners.Diff(before.owners, after.owners).String(), plan.Ownership.String()); diff != "" {
		t.Errorf("owners (-happened +planned):\n%s", diff)
	}
}

func TestPlanHidesSecrets(t *testing.T) {
	c := kit.NewClient(t, kit.Server(t))
	namespace := kit.NewNamespace(t, c)
	us := kit.NewApplier(t, c, "us", apply.OnConflict(apply.Force))
	kit.MustApply(t, kit.NewApplier(t, c, "other", apply.Policy{}), apply.Intent{Config: corev1ac.Secret("a", namespace).
		WithData(map[string][]byte{"taken": []byte("hunter1")})})
	kit.MustApply(t, us, apply.Intent{Config: corev1ac.Secret("a", namespace).WithData(map[string][]byte{"dropped": []byte("hunter2")})})
	plan, err := us.Plan(t.Context(), apply.Intent{Config: corev1ac.Secret("a", namespace).
		WithData(map[string][]byte{"taken": []byte("hunter3"), "new": []byte("hunter4")})})
	if err != nil {
		t.Fatal(err)
	}
	want := "Secret " + namespace + `/a: would be configured by us
conflicts:
  Force .data.taken to (hidden): owned by other/Apply with value (hidden)
changes:
  .data.dropped: removed (hidden)
  .data.new: added (hidden)
  .data.taken: (hidden) -> (hidden)
taken:
  .data.taken: other/Apply -> us/Apply
gained:
  .data.new
dropped:
  .data.dropped: removed, with its value (hidden)
`
	if diff := cmp.Diff(want, plan.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestPlanOfAnObjectThatMoves has somebody write between the read and the dry run.
func TestPlanOfAnObjectThatMoves(t *testing.T) {
	c := kit.NewClient(t, kit.Server(t))
	namespace := kit.NewNamespace(t, c)
	for name, test := range map[string]struct {
		writes int
		err    error
	}{
		"moves-twice":  {2, nil},
		"always-moves": {100, apply.ErrContended},
	} {
		kit.MustApply(t, kit.NewApplier(t, c, "owner", apply.Policy{}), apply.Intent{Config: corev1ac.ConfigMap(name, namespace)})
		written := 0
		write := func() {
			written++
			patch := client.RawPatch(types.MergePatchType, []byte(`{"data":{"n":"`+strings.Repeat("x", written)+`"}}`))
			if err := c.Patch(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}, patch); err != nil {
				t.Fatal(err)
			}
		}
		us, err := apply.New(c, apply.Config{FieldManager: "us", LiveReader: &kit.Meddler{Reader: c, Times: test.writes, Then: write}})
		if err != nil {
			t.Fatal(err)
		}
		plan, err := us.Plan(t.Context(), apply.Intent{Config: corev1ac.ConfigMap(name, namespace).WithData(map[string]string{"ours": "1"})})
		if !errors.Is(err, test.err) || test.err == nil && err != nil {
			t.Fatalf("%s: %v, want %v", name, err, test.err)
		}
		if test.err == nil && len(plan.Changes) != 1 {
			t.Errorf("%s: changes %v, want ours alone", name, plan.Changes)
		}
	}
}

// TestPlanBetweenApplies plans between two applies that give way.
func TestPlanBetweenApplies(t *testing.T) {
	c := kit.NewClient(t, kit.Server(t))
	namespace := kit.NewNamespace(t, c)
	kit.MustApply(t, kit.NewApplier(t, c, "owner", apply.Policy{}), apply.Intent{Config: corev1ac.ConfigMap("a", namespace).
		WithData(map[string]string{"theirs": "1"})})
	us := kit.NewApplier(t, c, "us", apply.OnConflict(apply.Relinquish))
	intent := apply.Intent{Config: corev1ac.ConfigMap("a", namespace).WithData(map[string]string{"theirs": "2", "ours": "2"})}
	kit.MustApply(t, us, intent)
	plan, err := us.Plan(t.Context(), intent)
	if err != nil || plan.Action != apply.Unchanged || len(plan.Conflicts) != 1 {
		t.Errorf("planned %v, %v; want Unchanged with what is relinquished", plan, err)
	}
	outcome, err := us.Apply(t.Context(), intent)
	if err != nil || outcome.Attempts != 1 || outcome.Action != apply.Unchanged || !outcome.Conflicts[0].Remembered {
		t.Errorf("%+v, %v; want one apply", outcome, err)
	}
}
