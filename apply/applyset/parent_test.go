package applyset_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"coapply.dev/apply"
)

// A parent that is not the one that was given, or has a set of others, stays as it is, and nothing is applied for it.
func TestParentsThatAreNotWrittenTo(t *testing.T) {
	for reason, test := range map[string]struct {
		live   func(*corev1.ConfigMap)
		answer answer
		err    error
	}{
		"recreated":        {live: func(p *corev1.ConfigMap) { p.UID = "uid-2" }, err: apply.ErrUIDMismatch},
		"gone":             {answer: fail(apierrors.NewNotFound(configMaps, "web")), err: apply.ErrUIDMismatch},
		"not readable":     {answer: fail(apierrors.NewForbidden(configMaps, "web", nil)), err: apply.ErrRefused},
		"another tool's":   {live: func(p *corev1.ConfigMap) { p.Annotations["applyset.kubernetes.io/tooling"] = "kubectl/v1.27" }, err: apply.ErrRefused},
		"another object's": {live: func(p *corev1.ConfigMap) { p.Labels["applyset.kubernetes.io/id"] = "applyset-other-v1" }, err: apply.ErrRefused},
	} {
		t.Run(reason, func(t *testing.T) {
			s := newSetScript(t)
			if test.live != nil {
				live := setParent("ConfigMap")
				test.live(live)
				test.answer = ok(live)
			}
			s.expect(step{reads, test.answer})
			round := s.sets(apply.Policy{}).Apply(t.Context(), setParent("ConfigMap"), emitsConfigMap("a"))
			if err := errors.Join(round.Errs...); !errors.Is(err, test.err) || len(round.Outcomes) > 0 {
				t.Errorf("%v, %+v; want %v", err, round.Outcomes, test.err)
			}
		})
	}
}

// A parent that never had a set, and emits nothing, gets none.
func TestNoSetForNothing(t *testing.T) {
	s := newSetScript(t)
	s.expect(step{reads, ok(setParent())})
	round := s.sets(apply.Policy{}).Apply(t.Context(), setParent(), emits())
	if _, err := round.Prune(t.Context()); err != nil {
		t.Error(err)
	}
}

// A parent with a generation needs no version: nothing is pinned to one.
func TestParentWithAGeneration(t *testing.T) {
	for _, version := range []string{"", "7"} {
		s := newSetScript(t)
		parent := setParent()
		parent.Generation, parent.ResourceVersion = 3, version
		s.expect(step{reads, ok(parent)},
			step{strings.Replace(announces("ConfigMap"), `"resourceVersion":"7",`, "", 1), fail(apierrors.NewForbidden(configMaps, "web", nil))})
		round := s.sets(apply.Policy{}).Apply(t.Context(), parent, emitsConfigMap("a"))
		if err := errors.Join(round.Errs...); !errors.Is(err, apply.ErrRefused) || len(round.Outcomes) > 0 {
			t.Errorf("%v, %+v; want nothing applied", err, round.Outcomes)
		}
	}
}

// An intent for the parent makes it no member: with MustExist it is as any other object that someone else creates.
func TestPartialIntentForTheParent(t *testing.T) {
	s := newSetScript(t)
	s.expect(step{reads, ok(setParent())}, step{withPartials(announces(""), "ConfigMap/shop/web"), ok(setParent(""))}, step{reads, ok(setParent(""))},
		step{`PATCH configmaps/web?fieldManager=` + manager +
			` {"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"web","namespace":"shop","uid":"uid-1"}}`, ok(setParent(""))})
	if round := s.sets(apply.Policy{}).Apply(t.Context(), setParent(), emits(partial("web"))); len(round.Errs) > 0 {
		t.Error(round.Errs)
	}
}

// A parent that says other things than this process knows is read: a cache may be behind, and others may write to it.
func TestWhatTheParentSaysNow(t *testing.T) {
	for reason, test := range map[string]struct {
		live  *corev1.ConfigMap
		steps []step // after the parent is read again
	}{
		"the cache is behind": {setParent("ConfigMap"), []step{{applies("ConfigMap", "a"), ok(named("ConfigMap", "a"))}}},
		"its set was removed": {setParent(), []step{{announces("ConfigMap"), ok(setParent("ConfigMap"))},
			{applies("ConfigMap", "a"), ok(named("ConfigMap", "a"))}, {lists, page("", member("a"))}}},
	} {
		t.Run(reason, func(t *testing.T) {
			s := newSetScript(t)
			sets := s.sets(apply.Policy{})
			round := standing(s, sets)
			s.expect(step{lists, page("", member("a"))})
			if _, err := round.Prune(t.Context()); err != nil {
				t.Fatal(err)
			}
			s.expect(append([]step{{reads, ok(test.live)}}, test.steps...)...)
			round = sets.Apply(t.Context(), setParent(), emitsConfigMap("a"))
			if _, err := round.Prune(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// Nothing is deleted for a parent that is not the one that was emitted from.
func TestPruneHoldsTheParent(t *testing.T) {
	for name, test := range map[string]struct {
		emitted, live func(parent *corev1.ConfigMap)
		says          string // "": pruned
	}{
		"as it was": {live: func(*corev1.ConfigMap) {}},
		"another version": {
			live: func(p *corev1.ConfigMap) { p.ResourceVersion = "8" },
			says: "the parent's resourceVersion has changed since the parent was read, and its kind has no generation",
		},
		"another version of one with a generation": {
			emitted: func(p *corev1.ConfigMap) { p.Generation = 3 },
			live:    func(p *corev1.ConfigMap) { p.Generation, p.ResourceVersion = 3, "8" },
		},
		"another generation": {
			emitted: func(p *corev1.ConfigMap) { p.Generation = 3 },
			live:    func(p *corev1.ConfigMap) { p.Generation = 4 },
			says:    "the intents were computed from generation 3 of the parent, but the parent is now at generation 4",
		},
		"an older generation": {
			emitted: func(p *corev1.ConfigMap) { p.Generation = 3 },
			live:    func(p *corev1.ConfigMap) { p.Generation = 2 },
			says:    "the intents were computed from generation 3 of the parent, but the parent is now at generation 2",
		},
		"being deleted": {
			live: func(p *corev1.ConfigMap) {
				p.DeletionTimestamp = new(member("x", terminating).DeletionTimestamp.Rfc3339Copy())
			},
			says: "the parent is being deleted",
		},
		"recreated": {live: func(p *corev1.ConfigMap) { p.UID = "uid-2" }, says: "deleted or recreated"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSetScript(t)
			emitted, live := setParent("ConfigMap"), setParent("ConfigMap")
			if test.emitted != nil {
				test.emitted(emitted)
			}
			test.live(live)
			s.expect(append([]step{{reads, ok(emitted)}}, joins("ConfigMap", "a")...)...)
			round := s.sets(apply.Policy{}).Apply(t.Context(), emitted, emitsConfigMap("a"))
			if err := errors.Join(round.Errs...); err != nil {
				t.Fatal(err)
			}
			s.expect(step{lists, page("", member("b"))}, step{reads, ok(live)})
			if test.says == "" {
				s.steps = append(s.steps, step{deletes("b"), deleted(200)})
			}
			pruned, err := round.Prune(t.Context())
			if test.says == "" && (err != nil || len(pruned.Deleted) != 1) {
				t.Errorf("%v, %+v; want b deleted", err, pruned)
			}
			if test.says != "" && (err == nil || !strings.Contains(err.Error(), test.says) || len(pruned.Deleted) != 0) {
				t.Errorf("%v, %+v; want nothing deleted and %q", err, pruned, test.says)
			}
		})
	}
}

// After a write whose answer was lost, no version is known: the next one is pinned to none, and tried three times.
func TestWritesAfterALostAnswer(t *testing.T) { synctest.Test(t, testWritesAfterALostAnswer) }

func testWritesAfterALostAnswer(t *testing.T) {
	s := newSetScript(t)
	unpinned := func(kinds string) string { return strings.Replace(announces(kinds), `"resourceVersion":"7",`, "", 1) }
	lost := func(*http.Request) (*http.Response, error) { return nil, errors.New("connection lost") }
	steps := []step{{reads, ok(setParent("ConfigMap"))}, {announces("ConfigMap,Secret"), lost}, {unpinned("ConfigMap,Secret"), ok(setParent("ConfigMap", "Secret"))}}
	s.expect(append(steps, joins("Secret", "a")...)...)
	round := s.sets(apply.Policy{}).Apply(t.Context(), setParent("ConfigMap"), emits(apply.Intent{Config: corev1ac.Secret("a", "shop")}))
	steps = []step{{lists, page("")}, {strings.Replace(lists, "configmaps", "secrets", 1), page("")}}
	s.expect(append(steps, slices.Repeat([]step{{unpinned("Secret"), lost}}, 3)...)...)
	if _, err := round.Prune(t.Context()); !errors.Is(err, apply.ErrRetryable) {
		t.Error(err)
	}
}

// What the round itself writes to a parent without a generation is no change of it.
// What somebody else wrote before that is.
func TestPruneAfterAWriteToTheParent(t *testing.T) {
	const before, now = "ConfigMap", "ConfigMap,Secret"
	written := func(version string) answer {
		parent := setParent("ConfigMap", "Secret")
		parent.ResourceVersion = version
		return ok(parent)
	}
	unpinned := strings.Replace(announces(now), `"resourceVersion":"7",`, "", 1)
	stale := fail(apierrors.NewConflict(configMaps, "web", errors.New("the object has been modified")))
	lost := func(*http.Request) (*http.Response, error) { return nil, errors.New("connection lost") }
	for name, test := range map[string]struct {
		announced []step
		live      string
		err       error
	}{
		"ours alone":             {[]step{{announces(now), written("8")}}, "8", nil},
		"theirs after ours":      {[]step{{announces(now), written("8")}}, "9", apply.ErrRetryable},
		"theirs before ours":     {[]step{{announces(now), stale}, {unpinned, written("9")}}, "9", apply.ErrRetryable},
		"the answer is lost":     {[]step{{announces(now), lost}, {unpinned, written("8")}}, "8", apply.ErrRetryable},
		"a conflict that passes": {[]step{{announces(now), conflict(cause(".metadata.annotations", `"x"`))}, {unpinned, written("8")}}, "8", apply.ErrRetryable},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSetScript(t)
			s.expect(append(append([]step{{reads, ok(setParent(before))}}, test.announced...), joins("Secret", "a")...)...)
			round := s.sets(apply.Policy{}).Apply(t.Context(), setParent(before), emits(apply.Intent{Config: corev1ac.Secret("a", "shop")}))
			if err := errors.Join(round.Errs...); err != nil {
				t.Fatal(err)
			}
			s.expect(step{lists, page("", member("b"))}, step{strings.Replace(lists, "configmaps", "secrets", 1), page("")},
				step{reads, written(test.live)})
			if test.err == nil {
				shrinks := strings.Replace(announces("Secret"), `"resourceVersion":"7"`, `"resourceVersion":"8"`, 1)
				s.steps = append(s.steps, step{deletes("b"), deleted(200)}, step{shrinks, written("10")})
			}
			pruned, err := round.Prune(t.Context())
			if !errors.Is(err, test.err) || test.err == nil && err != nil || (len(pruned.Deleted) == 1) != (test.err == nil) {
				t.Errorf("%v, %+v; want %v", err, pruned, test.err)
			}
		})
	}
}
