package apply

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"coapply.dev/apply"
	"coapply.dev/test/kit"
)

// TestDecisionsOnOurMapOverTheirValue has fields of ours below what they set as one
// value: what is in dispute is the whole of it.
func TestDecisionsOnOurMapOverTheirValue(t *testing.T) {
	c := kit.ShapeClient(t)
	namespace := kit.NewNamespace(t, c)
	for ours, want := range map[string]any{
		`{metadata: {labels: {ours: x}}, spec: {any: {deep: ours}}}`: map[string]any{"deep": "ours"},
		`{metadata: {labels: {ours: x}}, spec: {any: [ours]}}`:       []any{"ours"},
	} {
		for _, decision := range kit.AllDecisions {
			t.Run(fmt.Sprintf("%T/%s", want, decision), func(t *testing.T) {
				form := kit.Shape{
					Kind: "Shape", Theirs: `{spec: {any: theirs}}`, Ours: ours, Path: ".spec.any", Want: want, Have: "theirs",
					Whole: []string{kit.OurLabel}, Rest: []string{kit.OurLabel},
				}
				s := kit.NewStage(t, c, namespace, "Shape", "")
				if _, isMap := want.(map[string]any); isMap && decision == apply.Force {
					runForceOnly(t, s, form)
					return
				}
				runDecision(t, s, form, otherOwners["applier"], decision)
			})
		}
	}
}

// runForceOnly is for a form of which we own fields below the one in dispute.
func runForceOnly(t *testing.T, s *kit.Stage, form kit.Shape) {
	s.Apply("other", form.Theirs)
	outcome, err := kit.NewApplier(t, s.Client, "us", opposite(form.Path, apply.Force)).Apply(t.Context(), apply.Intent{Config: s.Config(form.Ours)})
	if err != nil {
		t.Fatal(err)
	}
	checkOutcome(t, outcome, apply.Force)
	if diff := cmp.Diff(form.Want, s.Value(form.Path)); diff != "" {
		t.Errorf("the value (-want +got):\n%s", diff)
	}
	if got, want := leavesOf(s, "us"), []string{kit.OurLabel, ".spec.any.deep"}; !slices.Equal(got, want) {
		t.Errorf("we own %q, want %q", got, want)
	}
	if got := leavesOf(s, "other"); len(got) > 0 {
		t.Errorf("the other one still owns %q", got)
	}
}

// TestOurValueOverTheirMapIsNoConflict shows a hole in the API server: where the
// schema leaves the form open, a value takes the place of a map, and the fields that
// others own in it go without any conflict. Nothing is left for a policy to decide.
func TestOurValueOverTheirMapIsNoConflict(t *testing.T) {
	c := kit.ShapeClient(t)
	namespace := kit.NewNamespace(t, c)
	for ours, want := range map[string]any{`ours`: "ours", `[ours]`: []any{"ours"}} {
		s := kit.NewStage(t, c, namespace, "Shape", "")
		s.Apply("other", `{spec: {any: {deep: theirs}}}`)
		outcome, err := kit.NewApplier(t, c, "us", apply.Policy{}).Apply(t.Context(), apply.Intent{Config: s.Config(`{spec: {any: ` + ours + `}}`)})
		if err != nil || len(outcome.Conflicts) > 0 || outcome.Requests != 1 {
			t.Errorf("%s: %v; %d requests, conflicts %v; want one request without any", ours, err, outcome.Requests, outcome.Conflicts)
		}
		if diff := cmp.Diff(want, s.Value(".spec.any")); diff != "" {
			t.Errorf("%s: the value (-want +got):\n%s", ours, diff)
		}
		if got := leavesOf(s, "other"); len(got) > 0 {
			t.Errorf("%s: the other one still owns %q", ours, got)
		}
	}
}

// TestMembersOfASetAreNeverInDispute shows that there is nothing to decide: a
// member is its own value.
func TestMembersOfASetAreNeverInDispute(t *testing.T) {
	c := kit.ShapeClient(t)
	namespace := kit.NewNamespace(t, c)
	for _, test := range []struct {
		reason, kind, theirs, ours, set, shared, mine string
		value                                         []any
	}{
		{
			"a set of a custom resource", "Shape", `{spec: {tags: [a, b]}}`, `{spec: {tags: [c, a]}}`,
			".spec.tags", `[="a"]`, `[="c"]`, []any{"a", "b", "c"},
		},
		{
			"finalizers", "ConfigMap", `{metadata: {finalizers: [x.io/a, x.io/b]}}`, `{metadata: {finalizers: [x.io/c, x.io/a]}}`,
			".metadata.finalizers", `[="x.io/a"]`, `[="x.io/c"]`, []any{"x.io/a", "x.io/b", "x.io/c"},
		},
	} {
		for _, decision := range kit.AllDecisions {
			t.Run(test.reason+"/"+decision.String(), func(t *testing.T) {
				s := kit.NewStage(t, c, namespace, test.kind, "")
				s.Apply("other", test.theirs)
				outcome, err := kit.NewApplier(t, c, "us", apply.OnConflict(decision)).Apply(t.Context(), apply.Intent{Config: s.Config(test.ours)})
				if err != nil || len(outcome.Conflicts) > 0 || outcome.Requests != 1 {
					t.Errorf("%v; %d requests, conflicts %v; want one request without any", err, outcome.Requests, outcome.Conflicts)
				}
				if got, want := s.Owners(test.set+test.shared), []string{"other/Apply", "us/Apply"}; !slices.Equal(got, want) {
					t.Errorf("%s is owned by %q, want %q", test.shared, got, want)
				}
				if got, want := s.Owners(test.set+test.mine), []string{"us/Apply"}; !slices.Equal(got, want) {
					t.Errorf("%s is owned by %q, want %q", test.mine, got, want)
				}
				byText := cmpopts.SortSlices(func(a, b any) bool { return text(a) < text(b) })
				if diff := cmp.Diff(any(test.value), s.Value(test.set), byText); diff != "" {
					t.Errorf("the set (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// TestTwoFieldsOfOneName has two fields that the server writes alike: neither can
// be left out or shared, as nobody knows which one is meant.
func TestTwoFieldsOfOneName(t *testing.T) {
	c := kit.ShapeClient(t)
	namespace := kit.NewNamespace(t, c)
	const (
		theirs = `{spec: {tree: {a: {b.c: theirs}, a.b: {c: theirs}}}}`
		ours   = `{spec: {tree: {a: {b.c: ours}, a.b: {c: ours}}}}`
		first  = `.spec.tree.a["b.c"]`
		second = `.spec.tree["a.b"].c`
	)
	for _, test := range []struct {
		reason string
		policy apply.Policy
		want   apply.Decision
	}{
		{"rejected", apply.OnConflict(apply.Force).At(first, apply.Reject), apply.Reject},
		{"forced: whichever is meant", apply.OnConflict(apply.Force), apply.Force},
		{"cannot be left out", apply.OnConflict(apply.Relinquish), apply.Reject},
		{"cannot be shared", apply.OnConflict(apply.Share), apply.Reject},
		{"the rules that may hold disagree", apply.OnConflict(apply.Reject).At(first, apply.Force).At(second, apply.Reject), apply.Reject},
	} {
		t.Run(test.reason, func(t *testing.T) {
			s := kit.NewStage(t, c, namespace, "Shape", "")
			s.Apply("other", theirs)
			outcome, err := kit.NewApplier(t, c, "us", test.policy).Apply(t.Context(), apply.Intent{Config: s.Config(ours)})
			if rejected := errors.Is(err, apply.ErrConflict); rejected != (test.want == apply.Reject) || !rejected && err != nil {
				t.Fatal(err)
			}
			row := conflictRow{
				Manager: "other/Apply", APIVersion: kit.APIVersions["Shape"], Timed: true,
				ServerPath: ".spec.tree.a.b.c", Decision: test.want,
			}
			if diff := cmp.Diff([]conflictRow{row, row}, conflictRows(outcome.Conflicts)); diff != "" {
				t.Errorf("conflicts (-want +got):\n%s", diff)
			}
			value := "theirs"
			if test.want == apply.Force {
				value = "ours"
			}
			if s.Value(first) != value || s.Value(second) != value {
				t.Errorf("%v, %v, want %s", s.Value(first), s.Value(second), value)
			}
		})
	}
}
