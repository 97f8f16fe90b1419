package integration

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"coapply.dev/apply"
)

// TestGivingWayTakesNothingFromOthers: an item that only we own stays, with nothing
// but its key, while others own fields of it. Were it left out with our field, the
// server would remove it with theirs.
func TestGivingWayTakesNothingFromOthers(t *testing.T) {
	const ours = `{spec: {parts: [{name: nut, color: ours}], port: 1}}`
	for _, test := range []struct {
		reason string
		path   string
		ours   string
		theirs string // merged into what we created
	}{
		{"a field of an item", nut + ".color", ours, `{spec: {parts: [{name: nut, color: theirs}]}}`},
		{"a field of an item in an item", nut + ".holes[col=0,row=1].depth", `{spec: {parts: [{name: nut, holes: [{row: 1, depth: 1}]}], port: 1}}`, `{spec: {parts: [{name: nut, holes: [{row: 1, depth: 5}]}]}}`},
		{"a map of an item", nut + ".marks.m", `{spec: {parts: [{name: nut, marks: {m: ours}}], port: 1}}`, `{spec: {parts: [{name: nut, marks: {m: theirs}}]}}`},
		{"a map", ".spec.tree.a.k", `{spec: {tree: {a: {k: ours}}, port: 1}}`, `{spec: {tree: {a: {k: theirs}}}}`},
	} {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			shapeClient(t)
			c, watch := watchedClient(t, true)
			s := newStage(t, c, newNamespace(t, c), "Shape", "")
			applier := newApplier(t, c, "us", apply.OnConflict(apply.Relinquish))
			give := func(sends string) {
				t.Helper()
				watch.take()
				_, err := applier.Apply(t.Context(), apply.Intent{Config: s.config(test.ours)})
				if sent := watch.take(); err != nil || sent != sends {
					t.Fatalf("%v; sent %q, want %q", err, sent, sends)
				}
			}
			give(sendsOne)
			s.update("other", test.theirs)
			theirs := s.value(test.path)
			give(sendsThree)
			for range 3 {
				give(sendsOne)
				if got := s.value(test.path); got != theirs {
					t.Fatalf("%s is %v, want %v", test.path, got, theirs)
				}
				if got := s.owners(test.path); !slices.Equal(got, []string{"other/Update"}) {
					t.Errorf("it is owned by %q", got)
				}
			}
		})
	}
}

// TestGivingWayOnAnObjectOfOthers counts what MustExist adds: a look into the cache,
// which costs nothing, or a read where there is no cache.
func TestGivingWayOnAnObjectOfOthers(t *testing.T) {
	shapeClient(t)
	plain, watch := watchedClient(t, true)
	namespace := newNamespace(t, plain)
	informers := newCache(t, namespace, false)
	form := crdShapes["custom scalar"]
	for _, decision := range []apply.Decision{apply.Relinquish, apply.Share} {
		for _, cached := range []bool{true, false} {
			t.Run(fmt.Sprintf("%v, cached %v", decision, cached), func(t *testing.T) {
				c, reads := plain, "GET 200, "
				if cached {
					c, reads = cachedClient{plain, informers}, ""
				}
				s := newStage(t, plain, namespace, "Shape", "")
				s.apply("other", form.theirs)
				applier, err := apply.New(c, apply.Config{FieldManager: "us", LiveReader: plain, Policy: apply.OnConflict(decision)})
				s.must(err)
				for i, sends := range []string{sendsThree, sendsOne, sendsOne} {
					s.seen(informers)
					watch.take()
					outcome, err := applier.Apply(t.Context(), apply.Intent{Config: s.config(form.ours), MustExist: true})
					if sent := watch.take(); err != nil || sent != reads+sends || outcome.Conflicts[0].Remembered != (i > 0) {
						t.Errorf("%v; sent %q, want %q; %v", err, sent, reads+sends, outcome.Conflicts)
					}
				}
				old := s.live()
				isRecreated(s, form)
				s.seen(informers)
				watch.take()
				outcome, err := applier.Apply(t.Context(), apply.Intent{Config: s.config(form.ours), MustExist: true})
				if sent := watch.take(); err != nil || sent != reads+sendsThree || outcome.Object.UID == old.GetUID() {
					t.Errorf("recreated: %v; sent %q", err, sent)
				}
				isDeleted(s, form)
				outcome, err = applier.Apply(t.Context(), apply.Intent{Config: s.config(form.ours), MustExist: true})
				if err != nil || outcome.Action != apply.Absent || len(outcome.Conflicts) > 0 {
					t.Errorf("deleted: %q, %v, conflicts %v", outcome.Action, err, outcome.Conflicts)
				}
			})
		}
	}
}

// TestGivingWayOnAPinnedIntent: an intent with a uid is not meant for a later object
// of the name, whatever is remembered.
func TestGivingWayOnAPinnedIntent(t *testing.T) {
	c := shapeClient(t)
	s := newStage(t, c, newNamespace(t, c), "ConfigMap", "")
	s.apply("other", `{data: {a: theirs}}`)
	applier := newApplier(t, c, "us", apply.OnConflict(apply.Relinquish))
	intent := func(uid types.UID) apply.Intent {
		return apply.Intent{Config: s.config(`{metadata: {uid: ` + string(uid) + `}, data: {a: ours, b: mine}}`)}
	}
	old := s.live().GetUID()
	for _, remembered := range []bool{false, true} {
		outcome, err := applier.Apply(t.Context(), intent(old))
		if err != nil || len(outcome.Conflicts) != 1 || outcome.Conflicts[0].Remembered != remembered {
			t.Errorf("%v, %v", err, outcome.Conflicts)
		}
	}
	isRecreated(s, shape{kind: "ConfigMap", theirs: `{data: {a: theirs}}`})
	if _, err := applier.Apply(t.Context(), intent(old)); !errors.Is(err, apply.ErrUIDMismatch) {
		t.Errorf("recreated: got %v, want ErrUIDMismatch", err)
	}
	isDeleted(s, shape{})
	if _, err := applier.Apply(t.Context(), intent(old)); !errors.Is(err, apply.ErrUIDMismatch) {
		t.Errorf("deleted: got %v, want ErrUIDMismatch", err)
	}
}

// TestGivingWayThroughTheScaleIsNotRemembered: the scale's answer shows no owners, so
// nobody could tell when they let go. Each apply costs three requests.
func TestGivingWayThroughTheScaleIsNotRemembered(t *testing.T) {
	for kind, form := range scaled {
		for _, decision := range []apply.Decision{apply.Relinquish, apply.Share} {
			shapeClient(t)
			c, watch := watchedClient(t, true)
			s := newStage(t, c, newNamespace(t, c), kind, "")
			s.apply("other", form.theirs)
			applier := newApplier(t, c, "us", apply.OnConflict(decision))
			for range 3 {
				watch.take()
				outcome, err := applier.Apply(t.Context(), s.scaleIntent())
				if sent := watch.take(); err != nil || sent != sendsThree || outcome.Conflicts[0].Remembered {
					t.Errorf("%s, %v: %v; sent %q, %v", kind, decision, err, sent, outcome.Conflicts)
				}
			}
		}
	}
}
