package applyset_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"coapply.dev/apply"
	"coapply.dev/apply/applyset"
)

// smallPages makes the server answer lists in pages of two objects.
func smallPages(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		if query := request.URL.Query(); query.Has("limit") {
			query.Set("limit", "2")
			request = request.Clone(request.Context())
			request.URL.RawQuery = query.Encode()
		}
		return next.RoundTrip(request)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestPruneRequests is about a set that held a, b and perhaps others, and emits a.
func TestPruneRequests(t *testing.T) {
	const kept = "ConfigMap shop/b is no longer desired, but was kept: "
	const notOurs = kept + "the field manager " + manager + " does not own the object's label " + applyset.PartOfLabel
	const read = "GET configmaps/b"
	busy := apierrors.NewTooManyRequests("busy", 0)
	b := []string{"a", "b"}
	meets := func(change func(w *world)) func(w *world) { // between the list and the delete
		return func(w *world) { w.Before(3, func() { change(w) }) }
	}
	changed := func(change func(*metav1.ObjectMeta)) func(w *world) {
		return func(w *world) { w.change("b", change) }
	}
	owned := func(entries ...metav1.ManagedFieldsEntry) func(w *world) {
		return func(w *world) { w.own("b", entries...) }
	}
	with := func(change func(*metav1.ManagedFieldsEntry)) metav1.ManagedFieldsEntry {
		e := labelEntry(manager)
		change(&e)
		return e
	}
	for name, test := range map[string]struct {
		reason  string
		members []string
		happens func(*world)
		sent    []string
		deleted []string
		kept    []string
		err     error
	}{
		"nothing else": {reason: "what stands is not asked for twice", members: []string{"a"}, sent: []string{lists}},
		"two pages": {
			reason: "a page at a time, then the parent, then each by its uid", members: []string{"a", "b", "c"},
			sent:    []string{lists, lists + " continued", reads, deletes("b"), deletes("c")},
			deleted: []string{"ConfigMap shop/b", "ConfigMap shop/c"},
		},
		"another uid at the name": {
			reason: "it was recreated, and is emitted", members: []string{"a"},
			happens: func(w *world) { w.Before(1, func() { w.remove("a"); w.earlier("a") }) }, sent: []string{lists},
		},
		"gone already": {
			reason: "nothing to tell", members: b, happens: meets(func(w *world) { w.remove("b") }), sent: []string{lists, reads, deletes("b"), read},
		},
		"recreated": {
			reason: "a read tells what a 409 is", members: b, happens: meets(func(w *world) { w.remove("b"); w.earlier("b") }),
			sent: []string{lists, reads, deletes("b"), read},
			kept: []string{kept + "the object was recreated, and the new object was not changed"},
		},
		"gone meanwhile": {
			reason: "a read tells what a 409 is", members: b,
			happens: func(w *world) { w.Before(3, func() { w.touch("b") }); w.Before(4, func() { w.remove("b") }) },
			sent:    []string{lists, reads, deletes("b"), read},
		},
		"written to meanwhile": {
			reason: "it is a member still: deleted as it is now", members: b, happens: meets(func(w *world) { w.touch("b") }),
			sent: []string{lists, reads, deletes("b"), read, deletes("b")}, deleted: []string{"ConfigMap shop/b"},
		},
		"written to again and again": {
			reason: "bounded, and the rest is deleted", members: []string{"b", "c"},
			happens: func(w *world) {
				for i := range 5 {
					w.Before(3+2*i, func() { w.touch("b") })
				}
			},
			sent:    slices.Concat([]string{lists, reads}, slices.Repeat([]string{deletes("b"), read}, 5), []string{deletes("c")}),
			deleted: []string{"ConfigMap shop/c"}, err: apply.ErrRetryable,
		},
		"the label is taken off meanwhile": {
			reason: "no member any more: spared", members: b, happens: meets(changed(func(o *metav1.ObjectMeta) { o.Labels = nil })),
			sent: []string{lists, reads, deletes("b"), read},
		},
		"another set takes it meanwhile": {
			reason: "a label with another value is not ours", members: b,
			happens: meets(changed(func(o *metav1.ObjectMeta) { o.Labels[applyset.PartOfLabel] = "theirs" })), sent: []string{lists, reads, deletes("b"), read},
		},
		"another owner meanwhile": {
			reason: "judged again by all that is judged", members: b,
			happens: meets(changed(func(o *metav1.ObjectMeta) { o.OwnerReferences = []metav1.OwnerReference{owner} })), sent: []string{lists, reads, deletes("b"), read},
			kept: []string{kept + "the object's owner is the Pod p, not the parent"},
		},
		"deleted by others meanwhile, with a finalizer": {
			reason: "judged again by all that is judged", members: b,
			happens: meets(func(w *world) { w.removeSlowly("b") }), sent: []string{lists, reads, deletes("b"), read},
			kept: []string{kept + "the object is already being deleted"},
		},
		"being deleted": {
			reason: "not deleted twice", members: b, happens: func(w *world) { w.removeSlowly("b") }, sent: []string{lists},
			kept: []string{kept + "the object is already being deleted"},
		},
		"another's": {
			reason: "the garbage collector has it, and its owner wants it", members: b,
			happens: changed(func(o *metav1.ObjectMeta) { o.OwnerReferences = []metav1.OwnerReference{owner} }), sent: []string{lists},
			kept: []string{kept + "the object's owner is the Pod p, not the parent"},
		},
		"the parent's": {
			reason: "one owner of several is enough", members: b,
			happens: func(w *world) {
				parent := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "web", UID: w.parent().UID}
				w.change("b", func(o *metav1.ObjectMeta) { o.OwnerReferences = []metav1.OwnerReference{owner, parent} })
			},
			sent: []string{lists, reads, deletes("b")}, deleted: []string{"ConfigMap shop/b"},
		},
		"a label that others own": {
			reason: "a copy, or forged", members: b, happens: owned(labelEntry("others")), sent: []string{lists}, kept: []string{notOurs},
		},
		"a label that others own as well": {
			reason: "ours is enough", members: b, happens: owned(labelEntry("others"), labelEntry(manager)),
			sent: []string{lists, reads, deletes("b")}, deleted: []string{"ConfigMap shop/b"},
		},
		"a label that we own by Update": {
			reason: "not what an apply of a member makes", members: b,
			happens: owned(with(func(e *metav1.ManagedFieldsEntry) { e.Operation = "Update" })), sent: []string{lists}, kept: []string{notOurs},
		},
		"a label that we own through a subresource": {
			reason: "not what an apply of a member makes", members: b,
			happens: owned(with(func(e *metav1.ManagedFieldsEntry) { e.Subresource = "status" })), sent: []string{lists}, kept: []string{notOurs},
		},
		"managed fields that nobody can read": {
			reason: "they do not show that the label is ours", members: b,
			happens: owned(with(deep)), sent: []string{lists}, kept: []string{kept + "the owner of the object's label " +
				applyset.PartOfLabel + ` is unknown, because a managed fields entry cannot be read: managedFields[0] (manager "` + manager + `"): fieldsV1: near offset 7023: nested deeper than 1000 levels`},
		},
		"managed fields of others that nobody can read": {
			reason: "ours show that the label is ours", members: b,
			happens: owned(labelEntry(manager), with(func(e *metav1.ManagedFieldsEntry) { e.Manager = "others"; deep(e) })),
			sent:    []string{lists, reads, deletes("b")}, deleted: []string{"ConfigMap shop/b"},
		},
		"unreadable after a 409": {
			reason: "not taken for either", members: b,
			happens: func(w *world) { w.Before(3, func() { w.touch("b") }); w.Answer(4, busy) },
			sent:    []string{lists, reads, deletes("b"), read}, err: apply.ErrRetryable,
		},
		"list fails": {
			reason: "nothing is known", members: b, happens: func(w *world) { w.Answer(1, busy) }, sent: []string{lists}, err: apply.ErrRetryable,
		},
		"second page fails": {
			reason: "what is known goes, the rest is tried again", members: []string{"a", "b", "c"}, happens: func(w *world) { w.Answer(2, busy) },
			sent:    []string{lists, lists + " continued", reads, deletes("b")},
			deleted: []string{"ConfigMap shop/b"}, err: apply.ErrRetryable,
		},
		"parent unreadable": {
			reason: "nothing is deleted", members: b, happens: func(w *world) { w.Answer(2, busy) }, sent: []string{lists, reads}, err: apply.ErrRetryable,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Log(test.reason)
			w := newWorld(t, test.members...)
			config := w.Server.Config()
			config.Wrap(smallPages)
			if len(test.members) < 3 {
				config = w.Server.Config()
			}
			sets := w.setsOf(w.Recorded(config), apply.Policy{})
			round := w.standing(sets)
			if test.happens != nil {
				test.happens(w)
			}
			pruned, err := round.Prune(t.Context())
			if !errors.Is(err, test.err) || test.err == nil && err != nil {
				t.Errorf("error %v, want %v", err, test.err)
			}
			if diff := cmp.Diff([][]string{test.deleted, test.kept}, [][]string{strs(pruned.Deleted), strs(pruned.Kept)}); diff != "" {
				t.Errorf("deleted, kept (-want +got):\n%s", diff)
			}
			w.wantNext(test.sent...)
			again(w, sets, pruned.Kept, err == nil && name != "recreated")
		})
	}
}

// deep makes fields of an entry too deep to be read by anybody but the server.
func deep(e *metav1.ManagedFieldsEntry) {
	const levels = 1500
	text := strings.TrimSuffix(e.FieldsV1.GetRawString(), "}}") + `,"f:annotations":{` + strings.Repeat(`"f:x":{`, levels) + strings.Repeat("}", levels) + `}}}`
	e.FieldsV1 = metav1.NewFieldsV1(text)
}

// again is another round. It lists only if the one before left something open; what
// was kept a moment ago is remembered.
func again(w *world, sets *applyset.Sets, kept []applyset.Kept, complete bool) {
	w.Helper()
	pruned, err := sets.Apply(w.Context(), w.parent(), emitsConfigMap("a")).Prune(w.Context())
	if err != nil {
		w.Errorf("another round: %v", err)
	}
	if !complete {
		if w.Sent() < 2 {
			w.Error("another round lists nothing")
		}
		return
	}
	w.wantNext("PATCH configmaps/a")
	for i := range kept {
		kept[i].Remembered = true
	}
	if diff := cmp.Diff(kept, pruned.Kept, cmpopts.EquateEmpty()); diff != "" {
		w.Errorf("kept by another round (-want +got):\n%s", diff)
	}
}

// TestPruneSparesTheParent: a parent with the label of its own set is kept, whatever its label says.
func TestPruneSparesTheParent(t *testing.T) {
	w := newWorld(t, "a")
	w.change("web", func(o *metav1.ObjectMeta) { o.Labels[applyset.PartOfLabel] = setID })
	w.own("web", labelEntry(manager))
	sets := w.sets(apply.Policy{})
	pruned, err := w.standing(sets).Prune(t.Context())
	const says = "ConfigMap shop/web is no longer desired, but was kept: the object is the parent itself"
	if err != nil || len(pruned.Kept) != 1 || pruned.Kept[0].String() != says {
		t.Errorf("%+v, %v", pruned, err)
	}
}

// After a write to the parent that failed nobody knows what it says: it is read,
// even if the cache says what was known before.
func TestFailedWriteToTheParent(t *testing.T) {
	w := newWorld(t)
	secret := apply.Intent{Config: corev1ac.Secret("b", "shop")}
	w.earlierRound(emits(apply.Intent{Config: corev1ac.ConfigMap("a", "shop")}, secret))
	w.Must(w.Delete(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "b"}}))
	cached := w.parent()
	sets := w.sets(apply.Policy{})
	round := w.standing(sets)
	w.Answer(3, apierrors.NewForbidden(configMaps, "web", nil))
	if _, err := round.Prune(t.Context()); !errors.Is(err, apply.ErrRefused) {
		t.Errorf("%v; want ErrRefused", err)
	}
	w.wantNext(lists, "GET secrets by label", announces)
	round = sets.Apply(t.Context(), cached, emits(secret))
	w.Must(errors.Join(round.Errs...))
	w.wantNext(append([]string{reads}, joins("secrets", "b")...)...)
}

func TestPruneEndsWithTheContext(t *testing.T) {
	w := newWorld(t, "a", "b", "c", "d", "e")
	round := w.standing(w.sets(apply.Policy{}))
	var logged []string
	log := funcr.New(func(_, args string) { logged = append(logged, args) }, funcr.Options{})
	ctx, end := context.WithCancel(logr.NewContext(t.Context(), log))
	w.Before(4, end) // the delete of c
	pruned, err := round.Prune(ctx)
	failed := (*applyset.PruneError)(nil)
	if !errors.As(err, &failed) || len(failed.Errs) != 2 || !errors.Is(err, context.Canceled) || len(pruned.Deleted) != 1 {
		t.Fatalf("%v, deleted %v; want the error of c and the end of the context", err, pruned.Deleted)
	}
	w.wantNext(lists, reads, deletes("b"), deletes("c"))
	if len(logged) != 1 || !strings.Contains(logged[0], `"pruned"`) {
		t.Errorf("logged: %q; want what was deleted", logged)
	}
	if !strings.HasPrefix(err.Error(), "pruning the ApplySet of ConfigMap shop/web: ") {
		t.Error(err)
	}
}
