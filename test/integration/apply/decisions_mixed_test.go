package apply

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/apply"
	"coapply.dev/test/kit"
)

// The fields of these tests and who sets them: other and second apply, third
// updates. port is ours alone.
const (
	mixedTitle    = ".spec.title"                              // other
	mixedKey      = `.spec.free["a.b"]`                        // second
	mixedColor    = kit.Nut + ".color"                         // third
	mixedFrame    = ".spec.frame"                              // other
	mixedPort     = ".spec.port"                               // nobody
	mixedName     = kit.Nut + ".name"                          // the key of our item
	sendsRejected = "PATCH 409, GET 200"                       // the conflicts, the read
	sendsForced   = sendsRejected + ", PATCH 409, " + sendsOne // judged without what gives way, forced
	mixedOurs     = `{spec: {title: ours, free: {a.b: ours}, parts: [{name: nut, color: ours}], frame: {w: 1}, port: 1}}`
)

func newMixed(t *testing.T) (*kit.Stage, *traffic) {
	t.Helper()
	kit.ShapeClient(t)
	c, watch := watchedClient(t, true)
	s := kit.NewStage(t, c, kit.NewNamespace(t, c), "Shape", "")
	s.Update("third", `{spec: {parts: [{name: nut, color: theirs}]}}`)
	s.Apply("other", `{spec: {title: theirs, frame: {h: 2}}}`)
	s.Apply("second", `{spec: {free: {a.b: theirs}}}`)
	watch.take()
	return s, watch
}

func TestDecisionsInOneIntent(t *testing.T) {
	type result struct {
		Sent      string
		Conflicts map[string]string // path: manager and decision
		Title     any
		Key       any
		Color     any
		Frame     any
		Leaves    []string
	}
	const byApply, byUpdate = metav1.ManagedFieldsOperationApply, metav1.ManagedFieldsOperationUpdate
	theirFrame, ourFrame := map[string]any{"h": int64(2)}, map[string]any{"w": int64(1)}
	all := func(title, key, color, frame string) map[string]string {
		return map[string]string{
			mixedTitle: "other/Apply " + title, mixedKey: "second/Apply " + key,
			mixedColor: "third/Update " + color, mixedFrame: "other/Apply " + frame,
		}
	}
	for _, test := range []struct {
		reason string
		policy apply.Policy
		want   result
	}{
		{
			"one of each: the rejected one holds back all",
			apply.OnConflict(apply.Reject).At(mixedTitle, apply.Force).At(mixedKey, apply.Relinquish).At(mixedColor, apply.Share),
			result{sendsRejected, all("Force", "Relinquish", "Share", "Reject"), "theirs", "theirs", "theirs", theirFrame, nil},
		},
		{
			"the three others together",
			apply.OnConflict(apply.Reject).At(mixedTitle, apply.Force).At(mixedKey, apply.Relinquish).At(mixedColor, apply.Share).At(mixedFrame, apply.Force),
			result{
				sendsForced, all("Force", "Relinquish", "Share", "Force"), "ours", "theirs", "theirs", ourFrame,
				[]string{mixedFrame, mixedColor, mixedName, mixedPort, mixedTitle},
			},
		},
		{
			"what gives way needs no force",
			apply.OnConflict(apply.Relinquish).At(mixedColor, apply.Share),
			result{
				sendsThree, all("Relinquish", "Relinquish", "Share", "Relinquish"), "theirs", "theirs", "theirs", theirFrame,
				[]string{mixedColor, mixedName, mixedPort},
			},
		},
		{
			"by manager",
			apply.OnConflict(apply.Share).When(apply.Match{Manager: "other"}, apply.Force).When(apply.Match{Manager: "third"}, apply.Relinquish),
			result{
				sendsForced, all("Force", "Share", "Relinquish", "Force"), "ours", "theirs", "theirs", ourFrame,
				[]string{mixedFrame, mixedKey, mixedPort, mixedTitle},
			},
		},
		{
			"by operation, and closer by path",
			apply.OnConflict(apply.Reject).When(apply.Match{Operation: byApply}, apply.Relinquish).
				When(apply.Match{Operation: byUpdate}, apply.Force).When(apply.Match{Path: mixedFrame, Operation: byApply}, apply.Share),
			result{
				sendsForced, all("Relinquish", "Relinquish", "Force", "Share"), "theirs", "theirs", "ours", theirFrame,
				[]string{mixedFrame, mixedColor, mixedName, mixedPort},
			},
		},
		{
			"by a function of the values, and else by the rules",
			apply.OnConflict(apply.Force).Func(func(c apply.Conflict) (apply.Decision, bool) {
				_, isMap := c.Theirs.(map[string]any)
				return apply.Relinquish, isMap && c.Manager.APIVersion == kit.APIVersions["Shape"] && !c.Manager.Time.IsZero()
			}),
			result{
				sendsForced, all("Force", "Force", "Force", "Relinquish"), "ours", "ours", "ours", theirFrame,
				[]string{mixedKey, mixedColor, mixedName, mixedPort, mixedTitle},
			},
		},
	} {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			s, watch := newMixed(t)
			outcome, err := kit.NewApplier(t, s.Client, "us", test.policy).Apply(t.Context(), apply.Intent{Config: s.Config(mixedOurs)})
			got := result{Sent: watch.take(), Conflicts: map[string]string{}}
			if rejected := errors.Is(err, apply.ErrConflict); rejected != (test.want.Leaves == nil) || !rejected && err != nil {
				t.Fatal(err)
			}
			for _, c := range outcome.Conflicts {
				got.Conflicts[c.Path.String()] = c.Manager.String() + " " + c.Decision.String()
			}
			got.Title, got.Key, got.Color, got.Frame = s.Value(mixedTitle), s.Value(mixedKey), s.Value(mixedColor), s.Value(mixedFrame)
			got.Leaves = leavesOf(s, "us")
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestDecisionsOnTwoOwnersOfOneField: whoever is to be rejected holds all back, and
// a field that gives way to one owner is not taken from the other.
func TestDecisionsOnTwoOwnersOfOneField(t *testing.T) {
	c := kit.ShapeClient(t)
	namespace := kit.NewNamespace(t, c)
	form := kit.CRDShapes["custom scalar"]
	both := []string{"other/Update", "second/Apply"}
	for _, test := range []struct {
		other, second apply.Decision
		want          any
		owners        []string
	}{
		{apply.Force, apply.Force, "ours", []string{"us/Apply"}},
		{apply.Force, apply.Reject, "theirs", both},
		{apply.Relinquish, apply.Reject, "theirs", both},
		{apply.Share, apply.Reject, "theirs", both},
		{apply.Force, apply.Relinquish, "theirs", both},
		{apply.Relinquish, apply.Force, "theirs", both},
		{apply.Force, apply.Share, "theirs", append(both, "us/Apply")},
		{apply.Share, apply.Relinquish, "theirs", both},
		{apply.Relinquish, apply.Share, "theirs", both},
	} {
		t.Run(test.other.String()+" and "+test.second.String(), func(t *testing.T) {
			s := kit.NewStage(t, c, namespace, form.Kind, "")
			otherOwners["two"].write(s, form.Theirs)
			policy := apply.OnConflict(test.other).When(apply.Match{Manager: "second"}, test.second)
			applier := kit.NewApplier(t, c, "us", policy)
			for range 3 { // from memory as well
				_, err := applier.Apply(t.Context(), apply.Intent{Config: s.Config(form.Ours)})
				if rejected := errors.Is(err, apply.ErrConflict); rejected != (test.second == apply.Reject) || !rejected && err != nil {
					t.Fatal(err)
				}
				if got := s.Value(form.Path); got != test.want {
					t.Errorf("%v, want %v", got, test.want)
				}
				if diff := cmp.Diff(test.owners, s.Owners(form.Path)); diff != "" {
					t.Errorf("owners (-want +got):\n%s", diff)
				}
			}
		})
	}
}
