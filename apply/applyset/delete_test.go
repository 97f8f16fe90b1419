package applyset_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/apply"
	"coapply.dev/apply/applyset"
)

// goingParent is the parent while it is being deleted.
func goingParent(kinds ...string) *corev1.ConfigMap {
	parent := setParent(kinds...)
	parent.DeletionTimestamp, parent.Finalizers = new(metav1.Now()), []string{"example.com/set"}
	return parent
}

func TestDelete(t *testing.T) {
	theirs := func(o *metav1.PartialObjectMetadata) {
		o.ManagedFields = []metav1.ManagedFieldsEntry{labelEntry("others")}
	}
	tooling := goingParent("ConfigMap")
	tooling.Annotations["applyset.kubernetes.io/tooling"] = "kubectl/v1.27"
	unlabelled := goingParent("ConfigMap")
	unlabelled.Labels = nil
	recreated := goingParent("ConfigMap")
	recreated.UID = "uid-2"
	read := step{reads, ok(goingParent("ConfigMap"))}
	for name, test := range map[string]struct {
		steps               []step
		deleted, kept, left []string
		done                bool
		err                 error
	}{
		"all of them": {
			steps: []step{
				read, {lists, page("", member("a"), member("b", withOwner("ConfigMap", "uid-1")))}, read,
				{deletes("a"), deleted(200)}, {deletes("b"), deleted(200)}, {lists, page("")},
			},
			deleted: []string{"ConfigMap shop/a", "ConfigMap shop/b"}, done: true,
		},
		"the parent lost its label": {
			steps:   []step{{reads, ok(unlabelled)}, {lists, page("", member("a"))}, read, {deletes("a"), deleted(200)}, {lists, page("")}},
			deleted: []string{"ConfigMap shop/a"}, done: true,
		},
		"held by a finalizer": {
			steps:   []step{read, {lists, page("", member("a"))}, read, {deletes("a"), deleted(200)}, {lists, page("", member("a", terminating))}},
			deleted: []string{"ConfigMap shop/a"}, left: []string{"ConfigMap shop/a"},
		},
		"applied meanwhile": {
			steps:   []step{read, {lists, page("", member("a"))}, read, {deletes("a"), deleted(200)}, {lists, page("", member("c"))}},
			deleted: []string{"ConfigMap shop/a"}, left: []string{"ConfigMap shop/c"},
		},
		"being deleted already": {
			steps: []step{read, {lists, page("", member("a", terminating))}},
			left:  []string{"ConfigMap shop/a"},
		},
		"not ours": {
			steps: []step{read, {lists, page("", member("a", theirs), member("b", theirs, terminating), member("c", withOwner("Pod", "uid-p")))}},
			kept:  []string{"ConfigMap shop/a", "ConfigMap shop/b", "ConfigMap shop/c"}, done: true,
		},
		"none":              {steps: []step{read, {lists, page("")}}, done: true},
		"never had a set":   {steps: []step{{reads, ok(goingParent())}}, done: true},
		"not being deleted": {steps: []step{{reads, ok(setParent("ConfigMap"))}}, err: applyset.ErrNotPruned},
		"recreated":         {steps: []step{{reads, ok(recreated)}}, err: apply.ErrUIDMismatch},
		"another tool's":    {steps: []step{{reads, ok(tooling)}}, err: apply.ErrRefused},
		"cannot be listed":  {steps: []step{read, {lists, fail(apierrors.NewTooManyRequests("busy", 0))}}, err: apply.ErrRetryable},
		"cannot be looked at": {
			steps: []step{
				read, {lists, page("", member("a"))}, read, {deletes("a"), deleted(200)},
				{lists, fail(apierrors.NewTooManyRequests("busy", 0))},
			},
			deleted: []string{"ConfigMap shop/a"}, err: apply.ErrRetryable,
		},
		"recreated between the look and the deletes": { // by the name alone they are the new one's
			steps: []step{read, {lists, page("", member("a"))}, {reads, ok(recreated)}}, err: apply.ErrUIDMismatch,
		},
		"cannot be deleted": {
			steps: []step{
				read, {lists, page("", member("a"), member("b"))}, read,
				{deletes("a"), fail(apierrors.NewForbidden(configMaps, "a", nil))}, {deletes("b"), deleted(200)},
			},
			deleted: []string{"ConfigMap shop/b"}, err: apply.ErrRefused,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSetScript(t)
			s.expect(test.steps...)
			pruned, done, err := s.sets(apply.Policy{}).Delete(t.Context(), goingParent("ConfigMap"))
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
		})
	}
}

// What a round before the deletion knows is of no use any more.
func TestDeleteOvertakesRounds(t *testing.T) {
	s := newSetScript(t)
	sets := s.sets(apply.Policy{})
	round := standing(s, sets)
	s.expect(step{reads, ok(goingParent("ConfigMap"))}, step{lists, page("")})
	if _, done, err := sets.Delete(t.Context(), goingParent("ConfigMap")); !done || err != nil {
		t.Fatalf("done %t, %v", done, err)
	}
	if _, err := round.Prune(t.Context()); !errors.Is(err, applyset.ErrNotPruned) || !strings.Contains(err.Error(), "later round") {
		t.Errorf("%v; want ErrNotPruned", err)
	}
	if _, done, err := sets.Delete(t.Context(), nil); done || !errors.Is(err, apply.ErrInvalidIntent) {
		t.Errorf("no parent: %v", err)
	}
}
