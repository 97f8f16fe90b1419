package apply

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"coapply.dev/apply"
	"coapply.dev/test/kit"
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
		{"a field of an item", kit.Nut + ".color", ours, `{spec: {parts: [{name: nut, color: theirs}]}}`},
		{"a field of an item in an item", kit.Nut + ".holes[col=0,row=1].depth", `{spec: {parts: [{name: nut, holes: [{row: 1, depth: 1}]}], port: 1}}`, `{spec: {parts: [{name: nut, holes: [{row: 1, depth: 5}]}]}}`},
		{"a map of an item", kit.Nut + ".marks.m", `{spec: {parts: [{name: nut, marks: {m: ours}}], port: 1}}`, `{spec: {parts: [{name: nut, marks: {m: theirs}}]}}`},
		{"a map", ".spec.tree.a.k", `{spec: {tree: {a: {k: ours}}, port: 1}}`, `{spec: {tree: {a: {k: theirs}}}}`},
	} {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			kit.ShapeClient(t)
			c, watch := watchedClient(t, true)
			s := kit.NewStage(t, c, kit.NewNamespace(t, c), "Shape", "")
			applier := kit.NewApplier(t, c, "us", apply.OnConflict(apply.Relinquish))
			give := func(sends string) {
				t.Helper()
				watch.take()
				_, err := applier.Apply(t.Context(), apply.Intent{Config: s.Config(test.ours)})
				if sent := watch.take(); err != nil || sent != sends {
					t.Fatalf("%v; sent %q, want %q", err, sent, sends)
				}
			}
			give(sendsOne)
			s.Update("other", test.theirs)
			theirs := s.Value(test.path)
			give(sendsThree)
			again := sendsTwo
			if strings.Contains(test.path, "=") {
				again = asksAgain
			}
			for range 3 {
				give(again)
				if got := s.Value(test.path); got != theirs {
					t.Fatalf("%s is %v, want %v", test.path, got, theirs)
				}
				if got := s.Owners(test.path); !slices.Equal(got, []string{"other/Update"}) {
					t.Errorf("it is owned by %q", got)
				}
			}
		})
	}
}

// TestGivingWayOnAnObjectOfOthers: the object that MustExist has read, from the cache or live, shows
// what is conceded. One apply is enough, from the first time on.
func TestGivingWayOnAnObjectOfOthers(t *testing.T) {
	kit.ShapeClient(t)
	plain, watch := watchedClient(t, true)
	namespace := kit.NewNamespace(t, plain)
	informers := newCache(t, namespace, false)
	form := kit.CRDShapes["custom scalar"]
	for _, decision := range []apply.Decision{apply.Relinquish, apply.Share} {
		for _, cached := range []bool{true, false} {
			t.Run(fmt.Sprintf("%v, cached %v", decision, cached), func(t *testing.T) {
				c, reads := plain, "GET 200, "
				if cached {
					c, reads = cachedClient{plain, informers}, ""
				}
				s := kit.NewStage(t, plain, namespace, "Shape", "")
				s.Apply("other", form.Theirs)
				applier, err := apply.New(c, apply.Config{FieldManager: "us", LiveReader: plain, Policy: apply.OnConflict(decision)})
				s.Must(err)
				for i := range 3 {
					seen(s, informers)
					watch.take()
					outcome, err := applier.Apply(t.Context(), apply.Intent{Config: s.Config(form.Ours), MustExist: true})
					if sent := watch.take(); err != nil || sent != reads+sendsOne || outcome.Conflicts[0].Remembered != (i > 0) {
						t.Errorf("%v; sent %q, want %q; %v", err, sent, reads+sendsOne, outcome.Conflicts)
					}
				}
				old := s.Live()
				isRecreated(s, form)
				seen(s, informers)
				watch.take()
				outcome, err := applier.Apply(t.Context(), apply.Intent{Config: s.Config(form.Ours), MustExist: true})
				if sent := watch.take(); err != nil || sent != reads+sendsOne || outcome.Object.UID == old.GetUID() {
					t.Errorf("recreated: %v; sent %q", err, sent)
				}
				isDeleted(s, form)
				outcome, err = applier.Apply(t.Context(), apply.Intent{Config: s.Config(form.Ours), MustExist: true})
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
	c := kit.ShapeClient(t)
	s := kit.NewStage(t, c, kit.NewNamespace(t, c), "ConfigMap", "")
	s.Apply("other", `{data: {a: theirs}}`)
	applier := kit.NewApplier(t, c, "us", apply.OnConflict(apply.Relinquish))
	intent := func(uid types.UID) apply.Intent {
		return apply.Intent{Config: s.Config(`{metadata: {uid: ` + string(uid) + `}, data: {a: ours, b: mine}}`)}
	}
	old := s.Live().GetUID()
	for _, remembered := range []bool{false, true} {
		outcome, err := applier.Apply(t.Context(), intent(old))
		if err != nil || len(outcome.Conflicts) != 1 || outcome.Conflicts[0].Remembered != remembered {
			t.Errorf("%v, %v", err, outcome.Conflicts)
		}
	}
	isRecreated(s, kit.Shape{Kind: "ConfigMap", Theirs: `{data: {a: theirs}}`})
	if _, err := applier.Apply(t.Context(), intent(old)); !errors.Is(err, apply.ErrUIDMismatch) {
		t.Errorf("recreated: got %v, want ErrUIDMismatch", err)
	}
	isDeleted(s, kit.Shape{})
	if _, err := applier.Apply(t.Context(), intent(old)); !errors.Is(err, apply.ErrUIDMismatch) {
		t.Errorf("deleted: got %v, want ErrUIDMismatch", err)
	}
}

// TestGivingWayThroughTheScale: the scale shows no owners, so the server is asked each time. Each
// apply costs three requests.
func TestGivingWayThroughTheScale(t *testing.T) {
	for kind, form := range kit.Scaled {
		for _, decision := range []apply.Decision{apply.Relinquish, apply.Share} {
			kit.ShapeClient(t)
			c, watch := watchedClient(t, true)
			s := kit.NewStage(t, c, kit.NewNamespace(t, c), kind, "")
			s.Apply("other", form.Theirs)
			applier := kit.NewApplier(t, c, "us", apply.OnConflict(decision))
			for i := range 3 {
				watch.take()
				outcome, err := applier.Apply(t.Context(), scaleIntent(s))
				if sent := watch.take(); err != nil || sent != sendsThree || outcome.Conflicts[0].Remembered != (i > 0) {
					t.Errorf("%s, %v: %v; sent %q, %v", kind, decision, err, sent, outcome.Conflicts)
				}
			}
		}
	}
}
