package apply

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"coapply.dev/apply"
	"coapply.dev/test/kit"
)

// asked is one apply of a series whose intents differ.
type asked struct {
	reason  string
	happens func(s *kit.Stage)
	ours    string
	sends   string
	found   []string // path, manager, decision and whether it was remembered
	leaves  []string // what we own afterwards
	refused error
}

// ask applies intent after intent to an object of one kind.
func ask(t *testing.T, kind, base string, policy apply.Policy, series []asked) *kit.Stage {
	t.Helper()
	kit.ShapeClient(t)
	c, watch := watchedClient(t, true)
	s := kit.NewStage(t, c, kit.NewNamespace(t, c), kind, "")
	s.Apply("other", base)
	applier := kit.NewApplier(t, c, "us", policy)
	for i, step := range series {
		if step.happens != nil {
			step.happens(s)
		}
		watch.take()
		outcome, err := applier.Apply(t.Context(), apply.Intent{Config: s.Config(step.ours)})
		if !errors.Is(err, step.refused) {
			t.Fatalf("%d, %s: %v, want %v", i, step.reason, err, step.refused)
		}
		if sent := watch.take(); sent != step.sends {
			t.Errorf("%d, %s: sent %s, want %s", i, step.reason, sent, step.sends)
		}
		var found []string
		for _, c := range outcome.Conflicts {
			line := c.Path.String() + " " + c.Manager.Name + " " + c.Decision.String()
			if c.Remembered {
				line += " remembered"
			}
			found = append(found, line)
		}
		if diff := cmp.Diff(step.found, found); diff != "" {
			t.Errorf("%d, %s: conflicts (-want +got):\n%s", i, step.reason, diff)
		}
		slices.Sort(step.leaves)
		if diff := cmp.Diff(step.leaves, leavesOf(s, "us")); diff != "" {
			t.Errorf("%d, %s: what we own (-want +got):\n%s", i, step.reason, diff)
		}
	}
	return s
}

const disputed = `{spec: {title: theirs, free: {a: theirs}}}`

func TestGivingWayWhenTheIntentChanges(t *testing.T) {
	const title, key, port = ".spec.title", ".spec.free.a", ".spec.port"
	byAnybody := apply.OnConflict(apply.Relinquish)
	bySomebody := byAnybody.When(apply.Match{Manager: "x"}, apply.Reject)
	for _, test := range []struct {
		reason string
		policy apply.Policy
		series []asked
	}{
		{"another field of the intent changes", byAnybody, []asked{
			{reason: "found", ours: `{spec: {title: ours, port: 1}}`, sends: sendsThree, found: []string{title + " other Relinquish"}, leaves: []string{port}},
			{reason: "what gave way still does", ours: `{spec: {title: ours, port: 2}}`, sends: sendsTwo, found: []string{title + " other Relinquish remembered"}, leaves: []string{port}},
		}},
		{"the decision depends on the owner", bySomebody, []asked{
			{reason: "found", ours: `{spec: {title: ours, port: 1}}`, sends: sendsThree, found: []string{title + " other Relinquish"}, leaves: []string{port}},
			{reason: "the same", ours: `{spec: {title: ours, port: 1}}`, sends: sendsTwo, found: []string{title + " other Relinquish remembered"}, leaves: []string{port}},
			{reason: "another", ours: `{spec: {title: ours, port: 2}}`, sends: sendsTwo, found: []string{title + " other Relinquish remembered"}, leaves: []string{port}},
		}},
		{"the field is not wanted any more", byAnybody, []asked{
			{reason: "found", ours: `{spec: {title: ours, port: 1}}`, sends: sendsThree, found: []string{title + " other Relinquish"}, leaves: []string{port}},
			{reason: "nothing conflicts", ours: `{spec: {port: 1}}`, sends: sendsTwo, leaves: []string{port}},
			{reason: "wanted again", ours: `{spec: {title: ours, port: 1}}`, sends: sendsThree, found: []string{title + " other Relinquish"}, leaves: []string{port}},
		}},
		{"one of two is not wanted any more", byAnybody, []asked{
			{reason: "both are found", ours: `{spec: {title: ours, free: {a: ours}, port: 1}}`, sends: sendsThree, found: []string{key + " other Relinquish", title + " other Relinquish"}, leaves: []string{port}},
			{reason: "the other one is remembered", ours: `{spec: {free: {a: ours}, port: 1}}`, sends: sendsTwo, found: []string{key + " other Relinquish remembered"}, leaves: []string{port}},
		}},
		{"the intent comes to their value", byAnybody, []asked{
			{reason: "found", ours: `{spec: {title: ours, port: 1}}`, sends: sendsThree, found: []string{title + " other Relinquish"}, leaves: []string{port}},
			{reason: "and owns the field with them", ours: `{spec: {title: theirs, port: 1}}`, sends: sendsTwo, leaves: []string{port, title}},
			{reason: "and that is the new steady state", ours: `{spec: {title: theirs, port: 1}}`, sends: sendsOne, leaves: []string{port, title}},
		}},
		{"a new conflict comes with the intent", byAnybody, []asked{
			{reason: "found", ours: `{spec: {title: ours, port: 1}}`, sends: sendsThree, found: []string{title + " other Relinquish"}, leaves: []string{port}},
			{reason: "found", ours: `{spec: {title: ours, free: {a: ours}, port: 1}}`, sends: sendsTwo, found: []string{key + " other Relinquish", title + " other Relinquish remembered"}, leaves: []string{port}},
			{reason: "both are remembered", ours: `{spec: {title: ours, free: {a: ours}, port: 1}}`, sends: sendsTwo, found: []string{key + " other Relinquish remembered", title + " other Relinquish remembered"}, leaves: []string{port}},
			{
				reason: "one of two lets go", happens: func(s *kit.Stage) { s.Apply("other", `{spec: {title: theirs}}`) },
				ours: `{spec: {title: ours, free: {a: ours}, port: 1}}`, sends: sendsTwo,
				found: []string{title + " other Relinquish remembered"}, leaves: []string{port, key},
			},
		}},
		{"a shared field follows a change of the intent", apply.OnConflict(apply.Share), []asked{
			{reason: "found", ours: `{spec: {title: ours, port: 1}}`, sends: sendsThree, found: []string{title + " other Share"}, leaves: []string{port, title}},
			{reason: "another value of ours", ours: `{spec: {title: more, port: 1}}`, sends: sendsTwo, found: []string{title + " other Share remembered"}, leaves: []string{port, title}},
			{reason: "not wanted any more", ours: `{spec: {port: 1}}`, sends: sendsTwo, leaves: []string{port}},
		}},
	} {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			ask(t, "Shape", disputed, test.policy, test.series)
		})
	}
}
