package apply

import (
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"coapply.dev/apply"
	"coapply.dev/test/kit"
)

// otherOwner is a way in which others come to own the field in dispute.
type otherOwner struct {
	reason  string
	write   func(s *kit.Stage, theirs string)
	names   []string // of the managers, in the order of their entries
	untimed []string // those of them whose entry has no time
	before  []string // those of them that the managed fields name before we apply
}

var otherOwners = map[string]otherOwner{
	"applier": {
		reason: "another manager that applies",
		write:  func(s *kit.Stage, theirs string) { s.Apply("other", theirs) },
		names:  []string{"other/Apply"}, before: []string{"other/Apply"},
	},
	"updater": {
		reason: "another manager that updates: the server tells its apiVersion and time",
		write:  func(s *kit.Stage, theirs string) { s.Update("other", theirs) },
		names:  []string{"other/Update"}, before: []string{"other/Update"},
	},
	"two": {
		reason: "one field with two owners is two conflicts",
		write: func(s *kit.Stage, theirs string) {
			s.Update("other", theirs)
			s.Apply("second", theirs)
		},
		// The server stamps an entry when its manager changes a value.
		names: []string{"other/Update", "second/Apply"}, untimed: []string{"second/Apply"}, before: []string{"other/Update", "second/Apply"},
	},
	"nobody": {
		reason: "without managed fields the server makes up an owner, and keeps it once we applied",
		write: func(s *kit.Stage, theirs string) {
			s.Update("other", theirs)
			wipe(s)
		},
		names: []string{"before-first-apply/Update"}, untimed: []string{"before-first-apply/Update"},
	},
}

// conflictRow is a conflict as tests compare it.
type conflictRow struct {
	Manager, APIVersion string
	Timed               bool
	Path, ServerPath    string
	Ours, Theirs        any
	Decision            apply.Decision
	Remembered          bool
}

func conflictRows(conflicts []apply.Conflict) []conflictRow {
	var all []conflictRow
	for _, c := range conflicts {
		all = append(all, conflictRow{
			Manager: c.Manager.String(), APIVersion: c.Manager.APIVersion, Timed: !c.Manager.Time.IsZero(),
			Path: c.Path.String(), ServerPath: c.ServerPath, Ours: c.Ours, Theirs: c.Theirs,
			Decision: c.Decision, Remembered: c.Remembered,
		})
	}
	return all
}

// opposite is a policy that decides otherwise everywhere but at the path.
func opposite(path string, decision apply.Decision) apply.Policy {
	if decision == apply.Reject {
		return apply.OnConflict(apply.Force).At(path, decision)
	}
	return apply.OnConflict(apply.Reject).At(path, decision)
}

func TestDecisionsOnEveryShape(t *testing.T) {
	c := kit.ShapeClient(t)
	namespace := kit.NewNamespace(t, c)
	shapes := maps.Clone(kit.BuiltinShapes)
	maps.Copy(shapes, kit.CRDShapes)
	for name, key := range kit.FreeKeys {
		shapes["key with "+name] = kit.FreeKeyShape(key)
	}
	for name, form := range shapes {
		for whose, other := range otherOwners {
			for _, decision := range kit.AllDecisions {
				t.Run(name+"/"+whose+"/"+decision.String(), func(t *testing.T) {
					t.Parallel()
					t.Logf("%s; %s", form.Reason, other.reason)
					runDecision(t, kit.NewStage(t, c, namespace, form.Kind, form.Subresource), form, other, decision)
				})
			}
		}
	}
}

func runDecision(t *testing.T, s *kit.Stage, form kit.Shape, other otherOwner, decision apply.Decision) {
	other.write(s, form.Theirs)
	before := s.Live()
	applier := kit.NewApplier(t, s.Client, "us", opposite(form.Path, decision))
	outcome, err := applier.Apply(t.Context(), apply.Intent{Config: s.Config(form.Ours), Subresource: form.Subresource})

	found := outcome.Conflicts
	if decision == apply.Reject {
		var rejected *apply.ConflictError
		if !errors.As(err, &rejected) || !errors.Is(err, apply.ErrConflict) {
			t.Fatalf("got %v, want a ConflictError", err)
		}
		found = rejected.Conflicts
	} else if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(expectedConflicts(form, other, decision), conflictRows(found)); diff != "" {
		t.Errorf("conflicts (-want +got):\n%s", diff)
	}
	checkAfter(t, s, form, other, decision)
	checkOutcome(t, outcome, decision)
	if decision == apply.Reject && s.Live().GetResourceVersion() != before.GetResourceVersion() {
		t.Error("something of a rejected intent landed")
	}
}

func expectedConflicts(form kit.Shape, other otherOwner, decision apply.Decision) []conflictRow {
	var expected []conflictRow
	for _, manager := range other.names {
		row := conflictRow{
			Manager: ownerThrough(manager, form.Subresource), APIVersion: kit.APIVersions[form.Kind], Timed: !slices.Contains(other.untimed, manager),
			Path: form.Path, ServerPath: form.ServerPath, Ours: form.Want, Theirs: form.Have, Decision: decision,
		}
		if row.ServerPath == "" {
			row.ServerPath = form.Path
		}
		expected = append(expected, row)
	}
	return expected
}

func ownerThrough(manager, subresource string) string {
	if subresource == "" {
		return manager
	}
	return manager + "[" + subresource + "]"
}

// checkAfter looks at the values and the owners that the object has afterwards.
func checkAfter(t *testing.T, s *kit.Stage, form kit.Shape, other otherOwner, decision apply.Decision) {
	t.Helper()
	const us = "us/Apply"
	value, owners, leaves := form.Have, slices.Clone(other.names), slices.Clone(form.Whole)
	switch decision {
	case apply.Reject:
		owners, leaves = slices.Clone(other.before), nil
	case apply.Force:
		value, owners, leaves = form.Want, []string{us}, append(leaves, form.Path)
	case apply.Relinquish:
		leaves = slices.Clone(form.Rest)
	case apply.Share:
		owners, leaves = append(owners, us), append(leaves, form.Path)
	}
	for i := range owners {
		owners[i] = ownerThrough(owners[i], form.Subresource)
	}
	slices.Sort(owners)
	slices.Sort(leaves)
	if diff := cmp.Diff(value, s.Value(form.Path)); diff != "" {
		t.Errorf("the value (-want +got):\n%s", diff)
	}
	if got := s.Owners(form.Path); !slices.Equal(got, owners) {
		t.Errorf("it is owned by %q, want %q", got, owners)
	}
	if diff := cmp.Diff(leaves, leavesOf(s, "us")); diff != "" {
		t.Errorf("what we own (-want +got):\n%s", diff)
	}
}

// checkOutcome counts: an apply that runs into the conflict, the read that it is
// judged by, an apply without what gives way or one that is judged, the force.
func checkOutcome(t *testing.T, outcome apply.Outcome, decision apply.Decision) {
	t.Helper()
	want := map[apply.Decision]apply.Outcome{
		apply.Reject:     {Requests: 2, Attempts: 1},
		apply.Force:      {Requests: 4, Attempts: 3, Action: apply.Configured},
		apply.Relinquish: {Requests: 3, Attempts: 2, Action: apply.Configured},
		apply.Share:      {Requests: 3, Attempts: 2, Action: apply.Configured},
	}[decision]
	if outcome.Requests != want.Requests || outcome.Attempts != want.Attempts || outcome.Action != want.Action {
		t.Errorf("%q with %d requests and %d attempts, want %q with %d and %d",
			outcome.Action, outcome.Requests, outcome.Attempts, want.Action, want.Requests, want.Attempts)
	}
}
