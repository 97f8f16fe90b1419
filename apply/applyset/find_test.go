package applyset_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/applyset"
)

// TestWhereMembersAreLookedFor: in the parent's namespace and in those that it names; those of a kind that has no
// namespaces are asked for once.
func TestWhereMembersAreLookedFor(t *testing.T) {
	const namespacesName = "applyset.kubernetes.io/additional-namespaces"
	const query = "?labelSelector=members&limit=500"
	none := func(path string) step { return step{"GET " + path + query, page("")} }
	notServed := step{lists, fail(apierrors.NewNotFound(configMaps, ""))}
	for reason, test := range map[string]struct {
		kinds, namespaces string
		steps             []step
		stays             bool // recorded, as nobody knows what is there
	}{
		"the parent's namespace":           {kinds: "ConfigMap", steps: []step{none("configmaps")}},
		"others, too":                      {kinds: "ConfigMap", namespaces: "x,y", steps: []step{none("configmaps"), none("/api/v1/namespaces/x/configmaps"), none("/api/v1/namespaces/y/configmaps")}},
		"a kind without namespaces":        {kinds: "Namespace", namespaces: "x,y", steps: []step{none("/api/v1/namespaces")}},
		"several kinds":                    {kinds: "ConfigMap,Secret", steps: []step{none("configmaps"), none("secrets")}},
		"a kind that is served no more":    {kinds: "Widget.example.com"},
		"a version that is served no more": {kinds: "ConfigMap", namespaces: "x", steps: []step{notServed}, stays: true},
	} {
		t.Run(reason, func(t *testing.T) {
			parent, going := setParent(test.kinds), goingParent(test.kinds)
			if test.namespaces != "" {
				parent.Annotations[namespacesName], going.Annotations[namespacesName] = test.namespaces, test.namespaces
			}
			s := newSetScript(t)
			s.expect(step{reads, ok(parent)})
			round := s.sets(apply.Policy{}).Apply(t.Context(), parent, emits())
			if err := errors.Join(round.Errs...); err != nil {
				t.Fatal(err)
			}
			s.expect(test.steps...)
			if !test.stays {
				s.steps = append(s.steps, step{announces(""), ok(setParent(""))})
			}
			if _, err := round.Prune(t.Context()); err != nil {
				t.Error(err)
			}
			s.expect(append([]step{{reads, ok(going)}}, test.steps...)...)
			_, done, err := s.sets(apply.Policy{}).Delete(t.Context(), going)
			if done == test.stays || errors.Is(err, apply.ErrRetryable) != test.stays || test.stays && !strings.Contains(err.Error(), "serves ConfigMap in none of the versions") {
				t.Errorf("deleted with the parent: %t, %v", done, err)
			}
		})
	}
}

// TestKindsThatAreNotFound: a kind that was applied just now is served, whatever discovery says; and discovery may fail.
func TestKindsThatAreNotFound(t *testing.T) {
	for _, test := range []error{&meta.NoKindMatchError{GroupKind: schema.GroupKind{Kind: "ConfigMap"}}, errors.New("discovery is down")} {
		s := newSetScript(t)
		round := standing(s, s.sets(apply.Policy{}))
		s.expect()
		s.mapper = map[string]error{"ConfigMap": test}
		if _, err := round.Prune(t.Context()); !errors.Is(err, test) {
			t.Errorf("%v, want %v", err, test)
		}
	}
}

// TestParentWithoutANamespace: its members are in the namespaces that it names, and are asked for in no others.
func TestParentWithoutANamespace(t *testing.T) {
	s := newSetScript(t)
	parent := &corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "uid-1", ResourceVersion: "7"}}
	id := applyset.ID(apply.ObjectRef{GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Namespace"), NamespacedName: client.ObjectKeyFromObject(parent)})
	parent.Labels = map[string]string{"applyset.kubernetes.io/id": id}
	parent.Annotations = map[string]string{
		"applyset.kubernetes.io/tooling": manager + "/v1", "applyset.kubernetes.io/contains-group-kinds": "ConfigMap",
		"applyset.kubernetes.io/additional-namespaces": "shop",
	}
	read := joins("ConfigMap", "a")[0]
	s.expect(step{"GET /api/v1/namespaces/web", ok(parent)}, read,
		step{strings.ReplaceAll(applies("ConfigMap", "a"), "SET", id), created(named("ConfigMap", "a"))},
		step{"GET configmaps?labelSelector=" + strings.ReplaceAll("applyset.kubernetes.io%2Fpart-of%3DSET", "SET", id) + "&limit=500", page("")})
	round := s.sets(apply.Policy{}).Apply(t.Context(), parent, emitsConfigMap("a"))
	if _, err := round.Prune(t.Context()); err != nil {
		t.Error(err)
	}
}

// appending is a reader that adds a page to what the list has already.
type appending struct{ client.Reader }

func (a appending) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	into := list.(*metav1.PartialObjectMetadataList)
	before := into.Items
	err := a.Reader.List(ctx, into, options...)
	into.Items = append(before, into.Items...)
	return err
}

// TestPagesAreJudgedOnce, also by a reader that does not begin the list anew.
func TestPagesAreJudgedOnce(t *testing.T) {
	s := newSetScript(t)
	c := s.client(s)
	applier, err := apply.New(c, apply.Config{FieldManager: manager, LiveReader: appending{c}})
	if err != nil {
		t.Fatal(err)
	}
	sets, err := applyset.New(applier)
	if err != nil {
		t.Fatal(err)
	}
	round := standing(s, sets)
	s.expect(step{lists, page("next", member("b"))}, step{strings.Replace(lists, "?", "?continue=next&", 1), page("", member("a"))},
		step{reads, ok(setParent("ConfigMap"))}, step{deletes("b"), deleted(200)})
	if _, err := round.Prune(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestMembersWithoutAUID: a fake client gives none, and what has none is not taken for what was applied.
func TestMembersWithoutAUID(t *testing.T) {
	s := newSetScript(t)
	nameless := func(name string) *metav1.PartialObjectMetadata {
		object := member(name)
		object.UID = ""
		return &object
	}
	s.expect(step{reads, ok(setParent("ConfigMap"))}, joins("ConfigMap", "a")[0], step{applies("ConfigMap", "a"), created(nameless("a"))})
	round := s.sets(apply.Policy{}).Apply(t.Context(), setParent("ConfigMap"), emits(apply.Intent{Config: corev1ac.ConfigMap("a", "shop")}))
	s.expect(step{lists, page("", *nameless("a"), *nameless("b"))}, step{reads, ok(setParent("ConfigMap"))},
		step{strings.Replace(deletes("b"), "uid-b", "", 1), deleted(200)})
	if _, err := round.Prune(t.Context()); err != nil {
		t.Error(err)
	}
}
