package applyset_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"coapply.dev/apply"
	"coapply.dev/apply/applyset"
)

const partialsName = "coapply.dev/partial-intents"

// namingParent is the parent with an annotation that names partial intents, owned by
// the manager that writes it.
func namingParent(owner, names string) *corev1.ConfigMap {
	parent := setParent("")
	parent.Annotations[partialsName] = names
	parent.ManagedFields = []metav1.ManagedFieldsEntry{
		entry(owner, "Apply", "", `{"f:metadata":{"f:annotations":{"f:`+partialsName+`":{}}}}`),
	}
	return parent
}

func partial(name string) apply.Intent {
	return apply.Intent{Config: corev1ac.ConfigMap(name, "shop"), MustExist: true}
}

func part(name string) apply.Intent {
	return apply.Intent{Config: corev1ac.ConfigMap(name, "shop"), Subresource: "part"}
}

// owned is an object of others in which we own fields, of it and of a subresource.
func owned(name string) *metav1.PartialObjectMetadata {
	object := named("ConfigMap", name)
	for _, subresource := range []string{"", "part"} {
		object.ManagedFields = append(object.ManagedFields, entry(manager, "Apply", subresource, `{"f:data":{"f:k":{}}}`))
	}
	return object
}

func bare(name, subresource string) string {
	return strings.TrimSuffix("PATCH configmaps/"+name+"/"+subresource, "/") + "?fieldManager=" + manager +
		` {"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"` + name + `","namespace":"shop","uid":"uid-` + name + `"}}`
}

// What partial intents set is given up when they are emitted no longer, after a restart
// too: the parent names them.
func TestPartialIntentsAreReleased(t *testing.T) {
	const ours = manager + "-applyset"
	const named1, both = `["ConfigMap/shop/a"]`, `["ConfigMap/shop/a","ConfigMap/shop/a/part"]`
	gone := fail(apierrors.NewNotFound(configMaps, "a"))
	invalid := fail(apierrors.NewInvalid(schema.GroupKind{Kind: "ConfigMap"}, "a", nil))
	read := step{"GET configmaps/a", ok(owned("a"))}
	version := 1
	done := func(request string) step { // each write changes something
		version++
		changed := named("ConfigMap", "a")
		changed.ResourceVersion = fmt.Sprint(version)
		return step{request, ok(changed)}
	}
	nothingLeft := step{withPartials(announces(""), []string{}...), ok(namingParent(ours, "[]"))}
	for name, test := range map[string]struct {
		parent         *corev1.ConfigMap
		intents        []apply.Intent
		steps          []step // of the prune, after the parent was read
		before         []step // of the applies
		released, kept []string
		isMember       bool
		err            error
	}{
		"one": {
			parent: namingParent(ours, named1), steps: []step{read, done(bare("a", "")), nothingLeft},
			released: []string{"ConfigMap shop/a"},
		},
		"each where it was applied": {
			parent: namingParent(ours, both), steps: []step{read, done(bare("a", "")), read, done(bare("a", "part")), nothingLeft},
			released: []string{"ConfigMap shop/a", "ConfigMap shop/a"},
		},
		"another for a subresource is emitted still": {
			parent: namingParent(ours, both), intents: []apply.Intent{part("a")},
			before:   []step{done(strings.NewReplacer(`,"uid":"uid-a"`, "", `"apiVersion":"v1","kind":"ConfigMap"`, `"kind":"ConfigMap","apiVersion":"v1"`).Replace(bare("a", "part")))},
			steps:    []step{read, done(bare("a", "")), {withPartials(announces(""), "ConfigMap/shop/a/part"), ok(setParent(""))}},
			released: []string{"ConfigMap shop/a"},
		},
		"it is a member now": {
			parent: namingParent(ours, named1), isMember: true, intents: []apply.Intent{{Config: corev1ac.ConfigMap("a", "shop")}},
			before: append([]step{{withPartials(announces("ConfigMap"), "ConfigMap/shop/a"), ok(namingParent(ours, named1))}}, joins("ConfigMap", "a")...),
			steps:  []step{{lists, page("", member("a"))}, {withPartials(announces("ConfigMap"), []string{}...), ok(setParent(""))}},
		},
		"nothing of ours there": {
			parent: namingParent(ours, named1), steps: []step{done("GET configmaps/a"), nothingLeft},
		},
		"gone": {parent: namingParent(ours, named1), steps: []step{{"GET configmaps/a", gone}, nothingLeft}},
		"a kind that is no more": {
			parent: namingParent(ours, `["Widget.example.com/shop/a"]`), steps: []step{nothingLeft},
		},
		"it cannot be without": {
			parent: namingParent(ours, named1), steps: []step{read, {bare("a", ""), invalid}},
			kept: []string{`ConfigMap shop/a is no longer desired, but was kept: ` +
				`the object is invalid without the fields that a release of ` + manager + ` removes; move these fields to another field manager first, with Migrate or Rename of package ownership: ` +
				`ConfigMap "a" is invalid`},
		},
		"fails": {
			parent: namingParent(ours, named1), steps: []step{{"GET configmaps/a", fail(apierrors.NewTooManyRequests("busy", 0))}},
			err: apply.ErrRetryable,
		},
		"a version that is no more": {
			parent: namingParent(ours, named1), steps: []step{{"GET configmaps/a", fail(apierrors.NewNotFound(configMaps, ""))}, nothingLeft},
		},
		"refused": { // which another round may do
			parent: namingParent(ours, named1), steps: []step{read, {bare("a", ""), fail(apierrors.NewForbidden(configMaps, "a", nil))}},
			err: apply.ErrRefused,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSetScript(t)
			sets := s.sets(apply.Policy{})
			s.expect(append([]step{{reads, ok(test.parent)}}, test.before...)...)
			round := sets.Apply(t.Context(), test.parent, emits(test.intents...))
			if err := errors.Join(round.Errs...); err != nil {
				t.Fatal(err)
			}
			if s.expect(test.steps...); !test.isMember {
				s.steps = append([]step{{reads, ok(test.parent)}}, test.steps...)
			}
			pruned, err := round.Prune(t.Context())
			if !errors.Is(err, test.err) || test.err == nil && err != nil {
				t.Errorf("error %v, want %v", err, test.err)
			}
			if diff := cmp.Diff([][]string{test.released, test.kept}, [][]string{strs(pruned.Released), strs(pruned.Kept)}); diff != "" {
				t.Errorf("released, kept (-want +got):\n%s", diff)
			}
			if err == nil { // the same again costs nothing
				s.expect()
				if again, err := round.Prune(t.Context()); err != nil || len(again.Released) > 0 || len(again.Kept) != len(test.kept) {
					t.Errorf("again: %+v, %v", again, err)
				}
			}
		})
	}
}

// An object of which no version can be found for the moment is released in a later round.
func TestReleaseWithoutDiscovery(t *testing.T) {
	s := newSetScript(t)
	parent, down := namingParent(manager+"-applyset", `["ConfigMap/shop/a"]`), errors.New("discovery is down")
	s.expect(step{reads, ok(parent)}, step{reads, ok(parent)})
	round := s.sets(apply.Policy{}).Apply(t.Context(), parent, emits())
	s.mapper = map[string]error{"ConfigMap": down}
	if pruned, err := round.Prune(t.Context()); !errors.Is(err, down) || len(pruned.Kept) > 0 {
		t.Errorf("%+v, %v", pruned, err)
	}
}

// A parent names a partial intent before the first apply, and only once, and until what it set is released.
func TestPartialIntentsAreNamedFirst(t *testing.T) {
	s := newSetScript(t)
	sets := s.sets(apply.Policy{})
	pinned := strings.Replace(bare("a", ""), `"apiVersion":"v1","kind":"ConfigMap"`, `"kind":"ConfigMap","apiVersion":"v1"`, 1)
	pinned = strings.Replace(pinned, `,"uid":"uid-a"`, "", 1)
	pinned = strings.Replace(pinned, `"namespace":"shop"`, `"namespace":"shop","uid":"uid-a"`, 1)
	object := []step{{"GET configmaps/a", ok(named("ConfigMap", "a"))}, {pinned, ok(named("ConfigMap", "a"))}}
	s.expect(append([]step{{reads, ok(setParent())}, {withPartials(announces(""), "ConfigMap/shop/a"), ok(setParent())}}, object...)...)
	naming := setParent("")
	naming.Annotations[partialsName] = `["ConfigMap/shop/a"]`
	for n, parent := range []*corev1.ConfigMap{setParent(), naming} {
		if n == 1 {
			s.expect(object...)
		}
		round := sets.Apply(t.Context(), parent, emits(partial("a")))
		if _, err := round.Prune(t.Context()); err != nil {
			t.Errorf("round %d: %v", n, err)
		}
	}
	changed := named("ConfigMap", "a")
	changed.ResourceVersion = "2"
	s.expect(step{reads, ok(naming)}, step{"GET configmaps/a", ok(owned("a"))}, step{bare("a", ""), ok(changed)},
		step{withPartials(announces(""), []string{}...), ok(setParent(""))})
	if pruned, err := sets.Apply(t.Context(), naming, emits()).Prune(t.Context()); err != nil || len(pruned.Released) != 1 {
		t.Errorf("emitted no longer: %+v, %v", pruned, err)
	}
}

// The end of the context is told once, not for each that is left.
func TestReleasesEndWithTheContext(t *testing.T) {
	s := newSetScript(t)
	parent := namingParent(manager+"-applyset", `["ConfigMap/shop/a","ConfigMap/shop/b","ConfigMap/shop/c"]`)
	s.expect(step{reads, ok(parent)})
	round := s.sets(apply.Policy{}).Apply(t.Context(), parent, emits())
	ctx, end := context.WithCancel(t.Context())
	s.expect(step{reads, ok(parent)}, step{"GET configmaps/a", func(r *http.Request) (*http.Response, error) {
		end()
		return fail(apierrors.NewForbidden(configMaps, "a", nil))(r)
	}})
	pruned, err := round.Prune(ctx)
	failed := (*applyset.PruneError)(nil)
	if !errors.As(err, &failed) || len(failed.Errs) != 2 || !errors.Is(err, context.Canceled) {
		t.Errorf("%+v, %v; want the error of a, and the end of the context", pruned, err)
	}
}

// What others wrote to the annotation gives up nothing, and does not stand.
func TestForgedPartialIntents(t *testing.T) {
	s := newSetScript(t)
	forged := namingParent("kubectl-annotate", `["ConfigMap/shop/a","ConfigMap/elsewhere/b"]`)
	announcement := withPartials(announces(""), []string{}...)
	unpinned := strings.Replace(announcement, `"resourceVersion":"7",`, "", 1)
	over := conflict(cause(".metadata.annotations."+partialsName, `"kubectl-annotate"`))
	s.expect(
		step{reads, ok(forged)}, step{announcement, over}, step{unpinned, over}, step{reads, ok(forged)},
		step{unpinned, over}, step{announcement, ok(namingParent(manager+"-applyset", "[]"))}, // forced, at the version that was read
	)
	round := s.sets(apply.Policy{}).Apply(t.Context(), forged, emits())
	if err := errors.Join(round.Errs...); err != nil {
		t.Fatal(err)
	}
	s.expect()
	if pruned, err := round.Prune(t.Context()); err != nil || len(pruned.Released) > 0 {
		t.Errorf("%+v, %v; want nothing released", pruned, err)
	}
}

// What we never write names nothing, and does not stand.
func TestUnreadablePartialIntents(t *testing.T) {
	for _, names := range []string{`{}`, `["a/b"]`, `["/shop/a"]`, `["ConfigMap/shop/"]`, `["ConfigMap/shop/a/part/x"]`, `["ConfigMap/shop/a",1]`} {
		s := newSetScript(t)
		parent := namingParent(manager+"-applyset", names)
		s.expect(step{reads, ok(parent)}, step{withPartials(announces(""), []string{}...), ok(namingParent(manager+"-applyset", "[]"))})
		round := s.sets(apply.Policy{}).Apply(t.Context(), parent, emits())
		if pruned, err := round.Prune(t.Context()); err != nil || len(pruned.Released) > 0 {
			t.Errorf("%s: %+v, %v; want nothing released", names, pruned, err)
		}
	}
}

func TestTooManyPartialIntents(t *testing.T) {
	s := newSetScript(t)
	s.expect(step{reads, ok(setParent())})
	var many []apply.Intent
	for i := range 4000 {
		many = append(many, partial(fmt.Sprintf("an-object-with-a-long-name-%d", i)))
	}
	round := s.sets(apply.Policy{}).Apply(t.Context(), setParent(), emits(many...))
	err := errors.Join(round.Errs...)
	if !errors.Is(err, apply.ErrInvalidIntent) || !strings.Contains(err.Error(), "the names of 4000 objects do not fit") || !strings.Contains(err.Error(), partialsName) {
		t.Errorf("%v; want ErrInvalidIntent that names the annotation", err)
	}
}

// A parent that goes releases as well, but not itself.
func TestDeleteReleases(t *testing.T) {
	s := newSetScript(t)
	parent := namingParent(manager+"-applyset", `["ConfigMap/shop/a","ConfigMap/shop/web"]`)
	parent.DeletionTimestamp = new(metav1.Now())
	released := named("ConfigMap", "a")
	released.ResourceVersion = "2"
	s.expect(step{reads, ok(parent)}, step{"GET configmaps/a", ok(owned("a"))}, step{bare("a", ""), ok(released)})
	pruned, done, err := s.sets(apply.Policy{}).Delete(t.Context(), parent)
	if err != nil || !done || len(pruned.Released) != 1 {
		t.Errorf("%+v, done %t, %v; want a released", pruned, done, err)
	}
}
