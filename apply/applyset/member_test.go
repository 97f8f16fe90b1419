package applyset_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/applyset"
	"coapply.dev/apply/applytest"
)

// Which intents are of members, and which of none.
func TestMembers(t *testing.T) {
	w := newWorld(t)
	elsewhere, e := fresh("elsewhere-"), fresh("e-")
	w.Must(w.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: elsewhere}}))
	labelled := corev1ac.ConfigMap("a", "shop").WithLabels(map[string]string{applyset.PartOfLabel: "x"})
	other := corev1ac.ConfigMap("d", elsewhere)
	round := w.sets(apply.Policy{}).Apply(t.Context(), w.parent(), emits(
		apply.Intent{Config: labelled},
		apply.Intent{Config: corev1ac.ConfigMap("web", "shop")},
		apply.Intent{Config: (*corev1ac.ConfigMapApplyConfiguration)(nil)},
		apply.Intent{Config: corev1ac.ConfigMap("b", "shop")},
		apply.Intent{Config: other},
		apply.Intent{Config: corev1ac.Namespace(e)}, // in no namespace: the parent names none for it
		apply.Intent{},
		apply.Intent{Config: corev1ac.ConfigMap("f", "")},
	))
	var got []string
	for _, err := range round.Errs {
		got = append(got, err.Error())
	}
	want := []string{
		"invalid intent for ConfigMap shop/a: the intent sets the label applyset.kubernetes.io/part-of itself; remove the label from the intent",
		"invalid intent for ConfigMap shop/web: the parent of an ApplySet cannot be a member of the same ApplySet: set MustExist in an intent for the parent",
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
	t.Cleanup(func() { // for the Namespace stays
		w.Must(w.Patch(context.Background(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: e}}, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":null}}`))))
	})
	sent := append([]string{reads, announces}, joins("configmaps", "b")...)
	sent = append(append(sent, joins("/api/v1/namespaces/"+elsewhere+"/configmaps", "d")...), joins("/api/v1/namespaces", e)...)
	w.WantSent(sent...)
	namespaces, kinds := w.parent().Annotations["applyset.kubernetes.io/additional-namespaces"], w.parent().Annotations["applyset.kubernetes.io/contains-group-kinds"]
	if namespaces != elsewhere || kinds != "ConfigMap,Namespace" {
		t.Errorf("recorded %s in %s", kinds, namespaces)
	}
}

// Whose an object is no policy decides.
func TestMembershipIsRejected(t *testing.T) {
	label := `.metadata.labels["` + applyset.PartOfLabel + `"]`
	w := newWorld(t, "x")
	c := w.client(w.Config())
	ruled, err := apply.New(c, apply.Config{FieldManager: manager, LiveReader: c, Policy: apply.OnConflict(apply.Reject).At(label, apply.Force)})
	w.Must(err)
	if _, err := applyset.New(ruled); err == nil || !strings.Contains(err.Error(), label) {
		t.Errorf("a rule for the label: %v", err)
	}
	if _, err := applyset.New(nil); err == nil {
		t.Error("no applier: no error")
	}
	w.Before(3, func() {
		theirs := corev1ac.ConfigMap("a", "shop").WithLabels(map[string]string{applyset.PartOfLabel: "theirs"})
		w.Must(w.Apply(t.Context(), theirs, client.FieldOwner("them")))
	})
	forced := func(apply.Conflict) (apply.Decision, bool) { return apply.Force, true }
	round := w.sets(apply.OnConflict(apply.Force).Func(forced)).Apply(t.Context(), w.parent(), emitsConfigMap("a"))
	if !errors.Is(errors.Join(round.Errs...), apply.ErrConflict) {
		t.Errorf("%v; want a conflict", round.Errs)
	}
	w.WantSent(append(append([]string{reads}, joins("configmaps", "a")...), "GET configmaps/a")...)
}

// A member of another set is not applied, and the round prunes nothing. Who has it is
// asked again till that set lets go of it; one of its own is asked for once.
func TestMembersOfAnotherSet(t *testing.T) {
	w := newWorld(t, "x")
	sets := w.sets(apply.Policy{})
	theirs := named("a")
	theirs.Labels = map[string]string{applyset.PartOfLabel: "applyset-other-v1"}
	w.Must(w.Create(t.Context(), theirs))
	for range 2 {
		round := sets.Apply(t.Context(), w.parent(), emitsConfigMap("a"))
		err := errors.Join(round.Errs...)
		for _, says := range []string{"the request for ConfigMap shop/a was refused: ", `"applyset-other-v1"`, `"` + setID + `"`, "ConfigMap shop/web"} {
			if !errors.Is(err, apply.ErrRefused) || !strings.Contains(err.Error(), says) {
				t.Errorf("%v; want ErrRefused that says %s", err, says)
			}
		}
		if _, err := round.Prune(t.Context()); !errors.Is(err, applyset.ErrNotPruned) {
			t.Errorf("%v, want ErrNotPruned", err)
		}
	}
	w.wantNext(reads, "GET configmaps/a", "GET configmaps/a")
	w.change("a", func(o *metav1.ObjectMeta) { o.Labels[applyset.PartOfLabel] = setID })
	for range 2 {
		w.Must(errors.Join(sets.Apply(t.Context(), w.parent(), emitsConfigMap("a")).Errs...))
	}
	w.wantNext("GET configmaps/a", "PATCH configmaps/a", "PATCH configmaps/a")
}

// Nobody of the same process comes between the read of a member and its apply.
func TestMembersAreAskedForOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		reading := func(r applytest.Request) bool { return r.Verb == "get" && r.Name == "shared" }
		w.Each(applytest.Fault{Match: reading, Before: func() { time.Sleep(time.Minute) }}) // of the test's own clock
		sets := w.sets(apply.Policy{})
		var wait sync.WaitGroup
		errs := make([]error, 3)
		for i := range errs {
			parent := named(fmt.Sprint("p", i))
			w.Must(w.Create(t.Context(), parent))
			wait.Go(func() { errs[i] = errors.Join(sets.Apply(t.Context(), parent, emitsConfigMap("shared")).Errs...) })
		}
		synctest.Wait() // one reads, the others wait
		short, end := context.WithTimeout(t.Context(), time.Second)
		defer end()
		late := named("late")
		w.Must(w.Create(t.Context(), late))
		if err := errors.Join(sets.Apply(short, late, emitsConfigMap("shared")).Errs...); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v; want the wait to end with the context", err)
		}
		wait.Wait()
		refused := slices.DeleteFunc(slices.Clone(errs), func(err error) bool { return !errors.Is(err, apply.ErrRefused) })
		if applied := w.Count("PATCH configmaps/shared"); applied != 1 || len(refused) != len(errs)-1 {
			t.Errorf("applied for %d sets, refused to %d of %d: %v", applied, len(refused), len(errs), errs)
		}
	})
}

// After a failure nobody knows which label a member has: it is read again.
func TestMembersAreAskedForAfterAFailure(t *testing.T) {
	w := newWorld(t, "x")
	sets, forbidden := w.sets(apply.Policy{}), apierrors.NewForbidden(configMaps, "a", nil)
	w.Answer(2, forbidden)
	w.Answer(4, forbidden)
	for _, want := range []error{apply.ErrRefused, apply.ErrRefused, nil} {
		err := errors.Join(sets.Apply(t.Context(), w.parent(), emitsConfigMap("a")).Errs...)
		if !errors.Is(err, want) || want == nil && err != nil {
			t.Errorf("%v, want %v", err, want)
		}
	}
	w.WantSent(reads, "GET configmaps/a", "GET configmaps/a", "PATCH configmaps/a", "GET configmaps/a", "PATCH configmaps/a")
}

// A subresource of an object that is someone else's is left alone, and one of an object that could not be applied is not.
func TestSubresourcesOfWhatIsNotApplied(t *testing.T) {
	theirs := func(client.Object) bool { return false }
	const read = "GET deployments/a"
	for reason, test := range map[string]struct {
		belongs func(client.Object) bool
		sent    []string
		errs    int
	}{
		"someone else's": {theirs, []string{read, read, read}, 2},
		"refused":        {nil, []string{read, "PATCH deployments/a", "PATCH deployments/a/status"}, 1},
	} {
		t.Run(reason, func(t *testing.T) {
			w := newWorld(t)
			w.earlierRound(emits(apply.Intent{Config: deployment("x")}))
			w.Must(w.Apply(t.Context(), deployment("a"), client.FieldOwner("somebody")))
			if test.belongs == nil {
				w.Answer(4, apierrors.NewForbidden(configMaps, "a", nil))
			}
			round := w.sets(apply.Policy{}).Apply(t.Context(), w.parent(), emits(apply.Intent{Config: deployment("a"), Belongs: test.belongs}, part("a")))
			if len(round.Errs) != test.errs || errors.Is(errors.Join(round.Errs...), apply.ErrNotOurs) != (test.belongs != nil) || round.Outcomes[1].Object.Name != "a" {
				t.Errorf("%v, %+v", round.Errs, round.Outcomes)
			}
			w.WantSent(append([]string{reads, announces}, test.sent...)...)
		})
	}
}

// One manager gives up with the second intent what only the first one lists.
func TestTwoIntentsForOneObject(t *testing.T) {
	w := newWorld(t, "x")
	config := func() *corev1ac.ConfigMapApplyConfiguration { return corev1ac.ConfigMap("a", "shop") }
	round := w.sets(apply.Policy{}).Apply(t.Context(), w.parent(), emits(
		apply.Intent{Config: config()},
		apply.Intent{Config: config().WithData(map[string]string{"k": "v"})},
		apply.Intent{Config: config(), MustExist: true},
	))
	const says = "invalid intent for ConfigMap shop/a: two intents for ConfigMap/shop/a: put all fields into one intent, because each apply removes the fields that its intent does not set"
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
	w.WantSent(append([]string{reads}, joins("configmaps", "a")...)...)
}

// An object and a subresource are two things to apply.
func TestAnObjectAndItsSubresource(t *testing.T) {
	w := newWorld(t)
	round := w.sets(apply.Policy{}).Apply(t.Context(), w.parent(), emits(apply.Intent{Config: deployment("a")}, part("a"), part("a")))
	const says = `invalid intent for Deployment shop/a: two intents for Deployment.apps/shop/a/status: put all fields into one intent, because each apply removes the fields that its intent does not set`
	if err := errors.Join(round.Errs...); err == nil || err.Error() != says {
		t.Errorf("%v; want %s", err, says)
	}
	w.WantSent(append(append([]string{reads, announces}, joins("deployments", "a")...), "PATCH deployments/a/status")...)
}
