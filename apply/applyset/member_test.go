package applyset_test

import (
	"context"
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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/applyset"
)

// Which intents are of members, and which of none.
func TestMembers(t *testing.T) {
	s := newSetScript(t)
	labelled := corev1ac.ConfigMap("a", "shop").WithLabels(map[string]string{applyset.PartOfLabel: "x"})
	other := corev1ac.ConfigMap("d", "elsewhere")
	cluster := strings.NewReplacer("configmaps/", "/api/v1/namespaces/", `"namespace":"shop",`, "", "ConfigMap", "Namespace")
	inElsewhere := strings.NewReplacer(`"shop"`, `"elsewhere"`, "configmaps/d", "/api/v1/namespaces/elsewhere/configmaps/d")
	s.expect(
		step{"GET configmaps/web", ok(setParent())},
		step{strings.Replace(announces("ConfigMap,Namespace"), `"annotations":{`,
			`"annotations":{"applyset.kubernetes.io/additional-namespaces":"elsewhere",`, 1), ok(named("ConfigMap", "web"))},
		joins("ConfigMap", "b")[0], joins("ConfigMap", "b")[1],
		step{inElsewhere.Replace(joins("ConfigMap", "d")[0].request), joins("ConfigMap", "d")[0].answer},
		step{inElsewhere.Replace(applies("ConfigMap", "d")), created(named("ConfigMap", "d"))},
		step{cluster.Replace(joins("ConfigMap", "e")[0].request), joins("ConfigMap", "e")[0].answer},
		step{cluster.Replace(applies("ConfigMap", "e")), created(named("Namespace", "e"))},
	)
	round := s.sets(apply.Policy{}).Apply(t.Context(), setParent(), emits(
		apply.Intent{Config: labelled},
		apply.Intent{Config: corev1ac.ConfigMap("web", "shop")},
		apply.Intent{Config: (*corev1ac.ConfigMapApplyConfiguration)(nil)},
		apply.Intent{Config: corev1ac.ConfigMap("b", "shop")},
		apply.Intent{Config: other},
		apply.Intent{Config: corev1ac.Namespace("e")}, // in no namespace: the parent names none for it
		apply.Intent{},
		apply.Intent{Config: corev1ac.ConfigMap("f", "")},
	))
	var got []string
	for _, err := range round.Errs {
		got = append(got, err.Error())
	}
	want := []string{
		"invalid intent for ConfigMap shop/a: the intent sets the label applyset.kubernetes.io/part-of itself; remove the label from the intent",
		"invalid intent for ConfigMap shop/web: the parent of a set cannot be a member of the set: set MustExist in an intent for the parent",
		"invalid intent: the apply configuration is a *v1.ConfigMapApplyConfiguration, but must be a pointer that is not nil",
		"invalid intent: the apply configuration is a <nil>, but must be a pointer that is not nil",
		"invalid intent for ConfigMap f: a namespace is needed: ConfigMap is namespaced",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
	if len(round.Outcomes) != 8 || round.Outcomes[0].Object.Name != "a" || round.Outcomes[3].Action != apply.Created || len(other.Labels) != 0 {
		t.Errorf("outcomes %+v, and the caller's configuration has %v", round.Outcomes, other.Labels)
	}
	if _, err := round.Prune(t.Context()); !errors.Is(err, applyset.ErrNotPruned) {
		t.Errorf("pruned after some failed: %v", err)
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
		synctest.Wait() // one reads, the others wait
		short, end := context.WithTimeout(t.Context(), time.Second)
		defer end()
		late := setParent()
		late.Name, late.UID = "late", "uid-late"
		if err := errors.Join(sets.Apply(short, late, emitsConfigMap("shared")).Errs...); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v; want the wait to end with the context", err)
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

// After a failure nobody knows which label a member has: it is read again.
func TestMembersAreAskedForAfterAFailure(t *testing.T) {
	s := newSetScript(t)
	sets := s.sets(apply.Policy{})
	read := joins("ConfigMap", "a")[0]
	s.expect(step{reads, ok(setParent("ConfigMap"))}, step{read.request, fail(apierrors.NewForbidden(configMaps, "a", nil))},
		read, step{applies("ConfigMap", "a"), fail(apierrors.NewForbidden(configMaps, "a", nil))}, read)
	s.steps = append(s.steps, joins("ConfigMap", "a")[1])
	for _, want := range []error{apply.ErrRefused, apply.ErrRefused, nil} {
		err := errors.Join(sets.Apply(t.Context(), setParent("ConfigMap"), emitsConfigMap("a")).Errs...)
		if !errors.Is(err, want) || want == nil && err != nil {
			t.Errorf("%v, want %v", err, want)
		}
	}
}

// A subresource of an object that is someone else's is left alone, and one of an object that could not be applied is not.
func TestSubresourcesOfWhatIsNotApplied(t *testing.T) {
	part := step{`PATCH configmaps/a/part?fieldManager=` + manager + ` {"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","namespace":"shop"}}`,
		ok(named("ConfigMap", "a"))}
	theirs := func(client.Object) bool { return false }
	for reason, test := range map[string]struct {
		belongs func(client.Object) bool
		steps   []step
		errs    int
	}{
		"someone else's": {theirs, slices.Repeat([]step{{"GET configmaps/a", ok(named("ConfigMap", "a"))}}, 3), 2},
		"refused":        {nil, []step{joins("ConfigMap", "a")[0], {applies("ConfigMap", "a"), fail(apierrors.NewForbidden(configMaps, "a", nil))}, part}, 1},
	} {
		t.Run(reason, func(t *testing.T) {
			s := newSetScript(t)
			s.expect(append([]step{{reads, ok(setParent("ConfigMap"))}, {withPartials(announces("ConfigMap"), "ConfigMap/shop/a/part"), ok(setParent("ConfigMap"))}}, test.steps...)...)
			round := s.sets(apply.Policy{}).Apply(t.Context(), setParent("ConfigMap"), emits(
				apply.Intent{Config: corev1ac.ConfigMap("a", "shop"), Belongs: test.belongs},
				apply.Intent{Config: corev1ac.ConfigMap("a", "shop"), Subresource: "part"}))
			if len(round.Errs) != test.errs || errors.Is(errors.Join(round.Errs...), apply.ErrNotOurs) != (test.belongs != nil) || round.Outcomes[1].Object.Name != "a" {
				t.Errorf("%v, %+v", round.Errs, round.Outcomes)
			}
		})
	}
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
	const says = "invalid intent for ConfigMap shop/a: two intents for one object: put all fields of the object into one intent, because each apply removes the fields that its intent does not set"
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
	const says = `invalid intent for ConfigMap shop/a: two intents for one subresource "part" of an object: put all fields of the object into one intent, because each apply removes the fields that its intent does not set`
	if err := errors.Join(round.Errs...); err == nil || err.Error() != says {
		t.Errorf("%v; want %s", err, says)
	}
}
