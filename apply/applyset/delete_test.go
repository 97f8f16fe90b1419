package applyset_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/apply"
	"coapply.dev/apply/applyset"
)

func TestDelete(t *testing.T) {
	busy := apierrors.NewTooManyRequests("busy", 0)
	const again = "GET configmaps by label"
	for name, test := range map[string]struct {
		members             []string
		before, happens     func(*world) // before and after the parent is deleted
		stays               bool         // the parent is not deleted
		sent                []string
		deleted, kept, left []string
		done                bool
		err                 error
	}{
		"all of them": {
			members: []string{"a", "b"}, sent: []string{reads, lists, reads, deletes("a"), deletes("b"), again},
			deleted: []string{"ConfigMap shop/a", "ConfigMap shop/b"}, done: true,
		},
		"the parent lost its label": {
			members: []string{"a"}, before: func(w *world) { w.change("web", func(o *metav1.ObjectMeta) { o.Labels = nil }) },
			sent: []string{reads, lists, reads, deletes("a"), again}, deleted: []string{"ConfigMap shop/a"}, done: true,
		},
		"held by a finalizer": {
			members: []string{"a"}, before: func(w *world) { w.hold("a") }, sent: []string{reads, lists, reads, deletes("a"), again},
			deleted: []string{"ConfigMap shop/a"}, left: []string{"ConfigMap shop/a"},
		},
		"applied meanwhile": {
			members: []string{"a"}, happens: func(w *world) {
				w.Before(5, func() {
					c := named("c")
					c.Labels = map[string]string{applyset.PartOfLabel: setID}
					w.Must(w.Create(w.Context(), c))
					w.own("c", labelEntry(manager))
				})
			},
			sent: []string{reads, lists, reads, deletes("a"), again}, deleted: []string{"ConfigMap shop/a"}, left: []string{"ConfigMap shop/c"},
		},
		"being deleted already": {
			members: []string{"a"}, before: func(w *world) { w.removeSlowly("a") }, sent: []string{reads, lists}, left: []string{"ConfigMap shop/a"},
		},
		"not ours": {
			members: []string{"a", "b", "c"}, before: func(w *world) {
				w.own("a", labelEntry("others"))
				w.removeSlowly("b")
				w.own("b", labelEntry("others"))
				w.change("c", func(o *metav1.ObjectMeta) { o.OwnerReferences = []metav1.OwnerReference{owner} })
			},
			sent: []string{reads, lists}, kept: []string{"ConfigMap shop/a", "ConfigMap shop/b", "ConfigMap shop/c"}, done: true,
		},
		"none": {
			members: []string{"a"}, before: func(w *world) { w.remove("a") }, sent: []string{reads, lists}, done: true,
		},
		"never had a set":   {sent: []string{reads}, done: true},
		"not being deleted": {members: []string{"a"}, stays: true, sent: []string{reads}, err: applyset.ErrNotPruned},
		"recreated": {
			members: []string{"a"}, happens: func(w *world) { w.Before(1, w.recreateParent) }, sent: []string{reads}, err: apply.ErrUIDMismatch,
		},
		"another tool's": {
			members: []string{"a"}, before: func(w *world) {
				w.change("web", func(o *metav1.ObjectMeta) { o.Annotations["applyset.kubernetes.io/tooling"] = "kubectl/v1.27" })
			},
			sent: []string{reads}, err: apply.ErrRefused,
		},
		"cannot be listed": {
			members: []string{"a"}, happens: func(w *world) { w.Answer(2, busy) }, sent: []string{reads, lists}, err: apply.ErrRetryable,
		},
		"cannot be looked at": {
			members: []string{"a"}, happens: func(w *world) { w.Answer(5, busy) }, sent: []string{reads, lists, reads, deletes("a"), again},
			deleted: []string{"ConfigMap shop/a"}, err: apply.ErrRetryable,
		},
		"recreated between the look and the deletes": { // by the name alone they are the new one's
			members: []string{"a"}, happens: func(w *world) { w.Before(3, w.recreateParent) }, sent: []string{reads, lists, reads}, err: apply.ErrUIDMismatch,
		},
		"cannot be deleted": {
			members: []string{"a", "b"}, happens: func(w *world) { w.Answer(4, apierrors.NewForbidden(configMaps, "a", nil)) },
			sent: []string{reads, lists, reads, deletes("a"), deletes("b")}, deleted: []string{"ConfigMap shop/b"}, err: apply.ErrRefused,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, test.members...)
			if test.before != nil {
				test.before(w)
			}
			if !test.stays {
				w.removeSlowly("web")
			}
			if test.happens != nil {
				test.happens(w)
			}
			pruned, done, err := w.sets(apply.Policy{}).Delete(t.Context(), w.parent())
			if !errors.Is(err, test.err) || test.err == nil && err != nil || done != test.done {
				t.Errorf("done %t, %v; want %t, %v", done, err, test.done, test.err)
			}
			var kept []string
			for _, k := range pruned.Kept {
				kept = append(kept, k.Object.String())
			}
			got := [][]string{strs(pruned.Deleted), kept, strs(pruned.Left)}
			if diff := cmp.Diff([][]string{test.deleted, test.kept, test.left}, got); diff != "" {
				t.Errorf("deleted, kept, left (-want +got):\n%s", diff)
			}
			w.WantSent(test.sent...)
		})
	}
}

// What a round before the deletion knows is of no use any more.
func TestDeleteOvertakesRounds(t *testing.T) {
	w := newWorld(t, "a")
	sets := w.sets(apply.Policy{})
	round := w.standing(sets)
	w.removeSlowly("web")
	w.remove("a")
	if _, done, err := sets.Delete(t.Context(), w.parent()); !done || err != nil {
		t.Fatalf("done %t, %v", done, err)
	}
	w.wantNext(reads, lists)
	if _, err := round.Prune(t.Context()); !errors.Is(err, applyset.ErrNotPruned) || !strings.Contains(err.Error(), "later call") {
		t.Errorf("%v; want ErrNotPruned", err)
	}
	if _, done, err := sets.Delete(t.Context(), nil); done || !errors.Is(err, apply.ErrInvalidIntent) {
		t.Errorf("no parent: %v", err)
	}
	w.wantNext()
}
