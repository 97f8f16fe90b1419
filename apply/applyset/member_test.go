package applyset_test

import (
	"errors"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"coapply.dev/apply"
	"coapply.dev/apply/applyset"
)

// Which intents are of members, and which of none.
func TestMembers(t *testing.T) {
	s := newSetScript(t)
	labelled := corev1ac.ConfigMap("a", "shop").WithLabels(map[string]string{applyset.PartOfLabel: "x"})
	other := corev1ac.ConfigMap("d", "elsewhere")
	inElsewhere := strings.NewReplacer(`"shop"`, `"elsewhere"`, "configmaps/d", "/api/v1/namespaces/elsewhere/configmaps/d")
	s.expect(
		step{"GET configmaps/web", ok(setParent())},
		step{strings.Replace(announces("ConfigMap"), `"annotations":{`,
			`"annotations":{"applyset.kubernetes.io/additional-namespaces":"elsewhere",`, 1), ok(named("ConfigMap", "web"))},
		joins("ConfigMap", "b")[0], joins("ConfigMap", "b")[1],
		step{inElsewhere.Replace(joins("ConfigMap", "d")[0].request), joins("ConfigMap", "d")[0].answer},
		step{inElsewhere.Replace(applies("ConfigMap", "d")), created(named("ConfigMap", "d"))},
	)
	round := s.sets(apply.Policy{}).Apply(t.Context(), setParent(), emits(
		apply.Intent{Config: labelled},
		apply.Intent{Config: corev1ac.ConfigMap("web", "shop")},
		apply.Intent{Config: (*corev1ac.ConfigMapApplyConfiguration)(nil)},
		apply.Intent{Config: corev1ac.ConfigMap("b", "shop")},
		apply.Intent{Config: other},
	))
	var got []string
	for _, err := range round.Errs {
		got = append(got, err.Error())
	}
	want := []string{
		"invalid intent for ConfigMap shop/a: it sets the label applyset.kubernetes.io/part-of itself",
		"invalid intent for ConfigMap shop/web: the parent of a set is no member of it: an intent for the parent needs MustExist",
		"invalid intent: the configuration is *v1.ConfigMapApplyConfiguration, want a non-nil pointer",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
	if len(round.Outcomes) != 5 || round.Outcomes[3].Action != apply.Created || len(other.Labels) != 0 {
		t.Errorf("outcomes %+v, and the caller's configuration has %v", round.Outcomes, other.Labels)
	}
	if _, err := round.Prune(t.Context()); !errors.Is(err, applyset.ErrNotPruned) {
		t.Errorf("pruned after three failed: %v", err)
	}
}

// Whose an object is no policy decides.
func TestMembershipIsRejected(t *testing.T) {
	label := `.metadata.labels["` + applyset.PartOfLabel + `"]`
	s := newSetScript(t)
	if _, err := applyset.New(s.applier(apply.OnConflict(apply.Reject).At(label, apply.Force))); err == nil || !strings.Contains(err.Error(), label) {
		t.Errorf("a rule for the label: %v", err)
	}
	if _, err := applyset.New(nil); err == nil {
		t.Error("no applier: no error")
	}
	forced := func(apply.Conflict) (apply.Decision, bool) { return apply.Force, true }
	theirs := named("ConfigMap", "a")
	theirs.Labels = map[string]string{applyset.PartOfLabel: "theirs"}
	theirs.ManagedFields = []metav1.ManagedFieldsEntry{entry("them", "Apply", "", `{"f:metadata":{"f:labels":{"f:`+applyset.PartOfLabel+`":{}}}}`)}
	s.expect(
		step{"GET configmaps/web", ok(setParent("ConfigMap"))},
		joins("ConfigMap", "a")[0],
		step{applies("ConfigMap", "a"), conflict(cause(".metadata.labels."+applyset.PartOfLabel, `"them"`))},
		step{"GET configmaps/a", ok(theirs)},
	)
	round := s.sets(apply.OnConflict(apply.Force).Func(forced)).Apply(t.Context(), setParent(), emitsConfigMap("a"))
	if !errors.Is(errors.Join(round.Errs...), apply.ErrConflict) {
		t.Errorf("%v; want a conflict", round.Errs)
	}
}

// A member of another set is not applied, and the round prunes nothing. Who has it is
// asked again till that set lets go of it; one of its own is asked for once.
func TestMembersOfAnotherSet(t *testing.T) {
	s := newSetScript(t)
	sets := s.sets(apply.Policy{})
	labelled := func(id string) answer {
		object := named("ConfigMap", "a")
		object.Labels = map[string]string{applyset.PartOfLabel: id}
		return ok(object)
	}
	s.expect(step{reads, ok(setParent("ConfigMap"))})
	for range 2 {
		s.steps = append(s.steps, step{"GET configmaps/a", labelled("applyset-other-v1")})
		round := sets.Apply(t.Context(), setParent("ConfigMap"), emitsConfigMap("a"))
		err := errors.Join(round.Errs...)
		for _, says := range []string{"ConfigMap shop/a is refused: ", `"applyset-other-v1"`, `"` + setID + `"`, "ConfigMap shop/web"} {
			if !errors.Is(err, apply.ErrRefused) || !strings.Contains(err.Error(), says) {
				t.Errorf("%v; want ErrRefused that says %s", err, says)
			}
		}
		if _, err := round.Prune(t.Context()); !errors.Is(err, applyset.ErrNotPruned) {
			t.Errorf("%v, want ErrNotPruned", err)
		}
	}
	s.expect(step{"GET configmaps/a", labelled(setID)}, step{applies("ConfigMap", "a"), ok(named("ConfigMap", "a"))},
		step{applies("ConfigMap", "a"), ok(named("ConfigMap", "a"))})
	for range 2 {
		if round := sets.Apply(t.Context(), setParent("ConfigMap"), emitsConfigMap("a")); len(round.Errs) > 0 {
			t.Error(round.Errs)
		}
	}
}

// Nobody of the same process comes between the read of a member and its apply.
func TestMembersAreAskedForOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := &sharedMember{}
		c := newSetScript(t).client(shared)
		applier, err := apply.New(c, apply.Config{FieldManager: manager, LiveReader: c})
		if err != nil {
			t.Fatal(err)
		}
		sets, err := applyset.New(applier)
		if err != nil {
			t.Fatal(err)
		}
		var wait sync.WaitGroup
		errs := make([]error, 3)
		for i := range errs {
			parent := setParent()
			parent.Name = fmt.Sprint("p", i)
			parent.UID = types.UID("uid-" + parent.Name)
			wait.Go(func() { errs[i] = errors.Join(sets.Apply(t.Context(), parent, emitsConfigMap("shared")).Errs...) })
		}
		wait.Wait()
		refused := slices.DeleteFunc(slices.Clone(errs), func(err error) bool { return !errors.Is(err, apply.ErrRefused) })
		if shared.applied != 1 || len(refused) != len(errs)-1 {
			t.Errorf("applied for %d sets, refused to %d of %d: %v", shared.applied, len(refused), len(errs), errs)
		}
	})
}

// sharedMember is an API server with parents and one other object, which takes long
// to read.
type sharedMember struct {
	mu      sync.Mutex
	applied int
}

func (m *sharedMember) RoundTrip(request *http.Request) (*http.Response, error) {
	object := named("ConfigMap", path.Base(request.URL.Path))
	if object.Name != "shared" {
		return ok(object)(request)
	}
	m.mu.Lock()
	applied := m.applied
	if request.Method == http.MethodPatch {
		m.applied++
	}
	m.mu.Unlock()
	if request.Method == http.MethodGet {
		time.Sleep(time.Minute) // of the test's own clock
		if applied == 0 {
			return joins("ConfigMap", "shared")[0].answer(request)
		}
		object.Labels = map[string]string{applyset.PartOfLabel: "applyset-first-v1"}
	}
	return ok(object)(request)
}

// One manager gives up with the second intent what only the first one lists.
func TestTwoIntentsForOneObject(t *testing.T) {
	s := newSetScript(t)
	s.expect(append([]step{{reads, ok(setParent("ConfigMap"))}}, joins("ConfigMap", "a")...)...)
	config := func() *corev1ac.ConfigMapApplyConfiguration { return corev1ac.ConfigMap("a", "shop") }
	round := s.sets(apply.Policy{}).Apply(t.Context(), setParent("ConfigMap"), emits(
		apply.Intent{Config: config()},
		apply.Intent{Config: config().WithData(map[string]string{"k": "v"})},
		apply.Intent{Config: config(), MustExist: true},
	))
	const says = "invalid intent for ConfigMap shop/a: two intents for one object: one manager applies it once, with everything it wants"
	if len(round.Errs) != 2 || len(round.Outcomes) != 3 || round.Outcomes[0].Action != apply.Created {
		t.Fatalf("%v, %+v; want the second and the third to be refused", round.Errs, round.Outcomes)
	}
	for _, err := range round.Errs {
		if !errors.Is(err, apply.ErrInvalidIntent) || err.Error() != says {
			t.Errorf("%v", err)
		}
	}
	if _, err := round.Prune(t.Context()); !errors.Is(err, applyset.ErrNotPruned) || !errors.Is(err, apply.ErrInvalidIntent) {
		t.Errorf("%v; want ErrNotPruned and why", err)
	}
}

// An object and a subresource are two things to apply.
func TestAnObjectAndItsSubresource(t *testing.T) {
	s := newSetScript(t)
	steps := append([]step{
		{reads, ok(setParent("ConfigMap"))},
		{withPartials(announces("ConfigMap"), "ConfigMap/shop/a/part"), ok(setParent("ConfigMap"))},
	}, joins("ConfigMap", "a")...)
	part := `PATCH configmaps/a/part?fieldManager=` + manager + ` {"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","namespace":"shop"}}`
	s.expect(append(steps, step{part, ok(named("ConfigMap", "a"))})...)
	through := apply.Intent{Config: corev1ac.ConfigMap("a", "shop"), Subresource: "part"}
	round := s.sets(apply.Policy{}).Apply(t.Context(), setParent("ConfigMap"), emits(
		apply.Intent{Config: corev1ac.ConfigMap("a", "shop")}, through, through))
	const says = `invalid intent for ConfigMap shop/a: two intents for one subresource "part" of an object: one manager applies it once, with everything it wants`
	if err := errors.Join(round.Errs...); err == nil || err.Error() != says {
		t.Errorf("%v; want %s", err, says)
	}
}
