package applyset_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"coapply.dev/apply"
	"coapply.dev/apply/applyset"
	"coapply.dev/test/kit/memory"
)

// TestWhereMembersAreLookedFor: in the parent's namespace and in those that it names; those of a kind that has no
// namespaces are asked for once.
func TestWhereMembersAreLookedFor(t *testing.T) {
	in := func(path string) string { return "GET " + path + " by label" }
	gadgets := "/apis/nowhere.example.com/v1/namespaces/x/gadgets"
	for reason, test := range map[string]struct {
		kinds, namespaces string
		sent              []string
		stays             bool // recorded, as nobody knows what is there
	}{
		"the parent's namespace":           {kinds: "ConfigMap", sent: []string{in("configmaps")}},
		"others, too":                      {kinds: "ConfigMap", namespaces: "x,y", sent: []string{in("configmaps"), in("/api/v1/namespaces/x/configmaps"), in("/api/v1/namespaces/y/configmaps")}},
		"a kind without namespaces":        {kinds: "Namespace", namespaces: "x,y", sent: []string{in("/api/v1/namespaces")}},
		"several kinds":                    {kinds: "ConfigMap,Secret", sent: []string{in("configmaps"), in("secrets")}},
		"a kind that is served no more":    {kinds: "Widget.example.com"},
		"a version that is served no more": {kinds: "Gadget.nowhere.example.com", namespaces: "x", sent: []string{in("gadgets"), in(gadgets)}, stays: true},
	} {
		t.Run(reason, func(t *testing.T) {
			w := newWorld(t)
			w.record(w.parent(), test.kinds, test.namespaces, "")
			round := w.sets(apply.Policy{}).Apply(t.Context(), w.parent(), emits())
			w.Must(errors.Join(round.Errs...))
			if _, err := round.Prune(t.Context()); err != nil {
				t.Error(err)
			}
			sent := append([]string{reads}, test.sent...)
			if test.stays {
				w.wantNext(reads, sent[1])
			} else {
				w.wantNext(append(sent, announces)...)
			}
			w = newWorld(t)
			w.record(w.parent(), test.kinds, test.namespaces, "")
			w.removeSlowly("web")
			_, done, err := w.sets(apply.Policy{}).Delete(t.Context(), w.parent())
			if done == test.stays || errors.Is(err, apply.ErrRetryable) != test.stays || test.stays && !strings.Contains(err.Error(), "serves no version of Gadget.nowhere.example.com") {
				t.Errorf("deleted with the parent: %t, %v", done, err)
			}
		})
	}
}

// TestKindsThatAreNotFound: a kind that was applied just now is served, whatever discovery says; and discovery may fail.
func TestKindsThatAreNotFound(t *testing.T) {
	for _, test := range []error{&meta.NoKindMatchError{GroupKind: schema.GroupKind{Kind: "ConfigMap"}}, errors.New("discovery is down")} {
		w := newWorld(t, "a")
		round := w.standing(w.sets(apply.Policy{}))
		w.mapper = map[string]error{"ConfigMap": test}
		if _, err := round.Prune(t.Context()); !errors.Is(err, test) {
			t.Errorf("%v, want %v", err, test)
		}
		w.wantNext()
	}
}

// TestParentWithoutANamespace: its members are in the namespaces that it names, and are asked for in no others.
func TestParentWithoutANamespace(t *testing.T) {
	w := newWorld(t)
	parent := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: fresh("parent-")}}
	w.Must(w.Create(t.Context(), parent))
	w.record(parent, "ConfigMap", "shop", "")
	round := w.sets(apply.Policy{}).Apply(t.Context(), parent, emitsConfigMap("a"))
	if _, err := round.Prune(t.Context()); err != nil {
		t.Error(err)
	}
	w.wantNext(append(append([]string{"GET /api/v1/namespaces/" + parent.Name}, joins("configmaps", "a")...), lists)...)
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
	w := newWorld(t, "a", "b", "c")
	config := w.Server.Config()
	config.Wrap(smallPages)
	c := w.client(w.Recorded(config))
	applier, err := apply.New(c, apply.Config{FieldManager: manager, LiveReader: appending{c}})
	w.Must(err)
	sets, err := applyset.New(applier)
	w.Must(err)
	round := w.standing(sets)
	if _, err := round.Prune(t.Context()); err != nil {
		t.Error(err)
	}
	w.wantNext(lists, lists+" continued", reads, deletes("b"), deletes("c"))
}

// TestMembersWithoutAUID: controller-runtime's fake client gives none, and what has none is not taken for what was applied.
func TestMembersWithoutAUID(t *testing.T) {
	parent := named("web")
	parent.UID = "uid-1"
	c := fake.NewClientBuilder().WithRESTMapper(memory.Mapper()).WithReturnManagedFields().WithObjects(parent).Build()
	applier, err := apply.New(c, apply.Config{FieldManager: manager, LiveReader: c})
	if err != nil {
		t.Fatal(err)
	}
	sets, err := applyset.New(applier)
	if err != nil {
		t.Fatal(err)
	}
	for _, names := range [][]string{{"a", "b"}, {"a"}} {
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(parent), parent); err != nil {
			t.Fatal(err)
		}
		pruned, err := sets.Apply(t.Context(), parent, emitsConfigMap(names...)).Prune(t.Context())
		if err != nil || len(pruned.Deleted) != 2-len(names) {
			t.Errorf("%v: %+v, %v", names, pruned, err)
		}
	}
}
