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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"coapply.dev/apply"
	"coapply.dev/apply/applyset"
)

// TestPruneRequests is about a set that held a and others and emits a.
func TestPruneRequests(t *testing.T) {
	gone, busy := apierrors.NewNotFound(configMaps, "b"), apierrors.NewTooManyRequests("busy", 0)
	stale := fail(apierrors.NewConflict(configMaps, "b", errors.New("the UID in the precondition does not match")))
	other := func(o *metav1.PartialObjectMetadata) { o.UID = "uid-other" }
	read := ok(setParent("ConfigMap"))
	for name, test := range map[string]struct {
		reason  string
		steps   []step
		deleted []string
		kept    []string
		err     error
	}{
		"nothing else": {reason: "what stands is not asked for twice", steps: []step{{lists, page("", member("a"))}}},
		"two pages": {
			reason: "a page at a time, then the parent, then each by its uid",
			steps: []step{
				{lists, page("next", member("a"), member("b"))},
				{strings.Replace(lists, "?", "?continue=next&", 1), page("", member("c"))},
				{reads, read}, {deletes("b"), deleted(200)}, {deletes("c"), deleted(202)},
			},
			deleted: []string{"ConfigMap shop/b", "ConfigMap shop/c"},
		},
		"another name for what stands": {
			reason: "the uid is that of what was applied: a kind that is served by two groups",
			steps:  []step{{lists, page("", member("b", func(o *metav1.PartialObjectMetadata) { o.UID = "uid-a" }))}},
		},
		"another uid at the name": {
			reason: "it was recreated, and is emitted",
			steps:  []step{{lists, page("", member("a", other))}},
		},
		"gone already": {
			reason: "nothing to tell",
			steps:  []step{{lists, page("", member("b"))}, {reads, read}, {deletes("b"), fail(gone)}, {"GET configmaps/b", fail(gone)}},
		},
		"recreated": {
			reason: "a read tells what a 409 is",
			steps: []step{
				{lists, page("", member("b"))}, {reads, read}, {deletes("b"), stale},
				{"GET configmaps/b", ok(new(member("b", other)))},
			},
			kept: []string{"ConfigMap shop/b is no longer desired, but was kept: the object was recreated, and the new object was not changed"},
		},
		"gone meanwhile": {
			reason: "a read tells what a 409 is",
			steps:  []step{{lists, page("", member("b"))}, {reads, read}, {deletes("b"), stale}, {"GET configmaps/b", fail(gone)}},
		},
		"written to meanwhile": {
			reason: "it is a member still: deleted as it is now",
			steps: []step{
				{lists, page("", member("b"))}, {reads, read}, {deletes("b"), stale},
				{"GET configmaps/b", ok(new(member("b", withVersion("2"))))}, {deletesAt("b", "2"), deleted(200)},
			},
			deleted: []string{"ConfigMap shop/b"},
		},
		"written to again and again": {
			reason: "bounded, and the rest is deleted",
			steps: append(append([]step{{lists, page("", member("b"), member("c"))}, {reads, read}},
				slices.Repeat([]step{{deletes("b"), stale}, {"GET configmaps/b", ok(new(member("b")))}}, 5)...),
				step{deletes("c"), deleted(200)}),
			deleted: []string{"ConfigMap shop/c"}, err: apply.ErrRetryable,
		},
		"the label is taken off meanwhile": {
			reason: "no member any more: spared",
			steps: []step{
				{lists, page("", member("b"))}, {reads, read}, {deletes("b"), stale},
				{"GET configmaps/b", ok(new(member("b", func(o *metav1.PartialObjectMetadata) { o.Labels = nil })))},
			},
		},
		"another set takes it meanwhile": {
			reason: "a label with another value is not ours",
			steps: []step{
				{lists, page("", member("b"))}, {reads, read}, {deletes("b"), stale},
				{"GET configmaps/b", ok(new(member("b", func(o *metav1.PartialObjectMetadata) { o.Labels[applyset.PartOfLabel] = "theirs" })))},
			},
		},
		"another owner meanwhile": {
			reason: "judged again by all that is judged",
			steps: []step{
				{lists, page("", member("b"))}, {reads, read}, {deletes("b"), stale},
				{"GET configmaps/b", ok(new(member("b", withOwner("Pod", "uid-pod"))))},
			},
			kept: []string{"ConfigMap shop/b is no longer desired, but was kept: the owner of the object is the Pod p, and not the parent"},
		},
		"deleted by others meanwhile, with a finalizer": {
			reason: "judged again by all that is judged",
			steps: []step{
				{lists, page("", member("b"))}, {reads, read}, {deletes("b"), stale},
				{"GET configmaps/b", ok(new(member("b", terminating)))},
			},
			kept: []string{"ConfigMap shop/b is no longer desired, but was kept: the object is already being deleted"},
		},
		"being deleted": {
			reason: "not deleted twice",
			steps:  []step{{lists, page("", member("b", terminating))}},
			kept:   []string{"ConfigMap shop/b is no longer desired, but was kept: the object is already being deleted"},
		},
		"another's": {
			reason: "the garbage collector has it, and its owner wants it",
			steps:  []step{{lists, page("", member("b", withOwner("Pod", "uid-pod")))}},
			kept:   []string{"ConfigMap shop/b is no longer desired, but was kept: the owner of the object is the Pod p, and not the parent"},
		},
		"the parent's": {
			reason:  "one owner of several is enough",
			steps:   []step{{lists, page("", member("b", withOwner("Pod", "uid-pod"), withOwner("ConfigMap", "uid-1")))}, {reads, read}, {deletes("b"), deleted(200)}},
			deleted: []string{"ConfigMap shop/b"},
		},
		"a label that others own": {
			reason: "a copy, or forged",
			steps: []step{{lists, page("", member("b", func(o *metav1.PartialObjectMetadata) {
				o.ManagedFields = []metav1.ManagedFieldsEntry{labelEntry("others")}
			}))}},
			kept: []string{"ConfigMap shop/b is no longer desired, but was kept: the field manager " + manager + " does not own the object's label " + applyset.PartOfLabel},
		},
		"unreadable after a 409": {
			reason: "not taken for either",
			steps: []step{
				{lists, page("", member("b"))}, {reads, read}, {deletes("b"), stale}, {"GET configmaps/b", fail(busy)},
			},
			err: apply.ErrRetryable,
		},
		"managed fields that nobody can read": {
			reason: "they do not show that the label is ours",
			steps: []step{{lists, page("", member("b", func(o *metav1.PartialObjectMetadata) {
				o.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: manager, Operation: "Apply", FieldsType: "FieldsV2"}}
			}))}},
			kept: []string{"ConfigMap shop/b is no longer desired, but was kept: it is unknown which field manager owns the object's label " + applyset.PartOfLabel +
				`: managedFields[0] (manager "` + manager + `"): fieldsType is "FieldsV2", want FieldsV1`},
		},
		"managed fields of others that nobody can read": {
			reason: "ours show that the label is ours",
			steps: []step{{lists, page("", member("b", func(o *metav1.PartialObjectMetadata) {
				o.ManagedFields = append(o.ManagedFields, metav1.ManagedFieldsEntry{Manager: "others", Operation: "Apply", FieldsType: "FieldsV2"})
			}))}, {reads, read}, {deletes("b"), deleted(200)}},
			deleted: []string{"ConfigMap shop/b"},
		},
		"the parent itself": {
			reason: "whatever its label says",
			steps:  []step{{lists, page("", member("b", func(o *metav1.PartialObjectMetadata) { o.UID = "uid-1" }))}},
			kept:   []string{"ConfigMap shop/b is no longer desired, but was kept: the object is the parent itself"},
		},
		"a label that we own by Update": {
			reason: "not what an apply of a member makes",
			steps:  []step{{lists, page("", member("b", func(o *metav1.PartialObjectMetadata) { o.ManagedFields[0].Operation = "Update" }))}},
			kept:   []string{"ConfigMap shop/b is no longer desired, but was kept: the field manager " + manager + " does not own the object's label " + applyset.PartOfLabel},
		},
		"a label that we own through a subresource": {
			reason: "not what an apply of a member makes",
			steps:  []step{{lists, page("", member("b", func(o *metav1.PartialObjectMetadata) { o.ManagedFields[0].Subresource = "status" }))}},
			kept:   []string{"ConfigMap shop/b is no longer desired, but was kept: the field manager " + manager + " does not own the object's label " + applyset.PartOfLabel},
		},
		"list fails": {reason: "nothing is known", steps: []step{{lists, fail(busy)}}, err: apply.ErrRetryable},
		"second page fails": {
			reason: "what is known goes, the rest is tried again",
			steps: []step{
				{lists, page("next", member("b"))}, {strings.Replace(lists, "?", "?continue=next&", 1), fail(busy)},
				{reads, read}, {deletes("b"), deleted(200)},
			},
			deleted: []string{"ConfigMap shop/b"}, err: apply.ErrRetryable,
		},
		"parent unreadable": {
			reason: "nothing is deleted",
			steps:  []step{{lists, page("", member("b"))}, {reads, fail(busy)}}, err: apply.ErrRetryable,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Log(test.reason)
			s := newSetScript(t)
			sets := s.sets(apply.Policy{})
			round := standing(s, sets)
			s.expect(test.steps...)
			pruned, err := round.Prune(t.Context())
			if !errors.Is(err, test.err) || test.err == nil && err != nil {
				t.Errorf("error %v, want %v", err, test.err)
			}
			if diff := cmp.Diff([][]string{test.deleted, test.kept}, [][]string{strs(pruned.Deleted), strs(pruned.Kept)}); diff != "" {
				t.Errorf("deleted, kept (-want +got):\n%s", diff)
			}
			s.expect()
			again(s, sets, pruned.Kept, err == nil && name != "recreated")
		})
	}
}

// again is another round. It lists only if the one before left something open; what
// was kept a moment ago is remembered.
func again(s *setScript, sets *applyset.Sets, kept []applyset.Kept, complete bool) {
	s.Helper()
	steps := []step{{applies("ConfigMap", "a"), ok(named("ConfigMap", "a"))}}
	if !complete {
		steps = append(steps, step{lists, page("")})
	}
	s.expect(steps...)
	pruned, err := sets.Apply(s.Context(), setParent("ConfigMap"), emitsConfigMap("a")).Prune(s.Context())
	if err != nil {
		s.Errorf("another round: %v", err)
	}
	if !complete {
		return
	}
	for i := range kept {
		kept[i].Remembered = true
	}
	if diff := cmp.Diff(kept, pruned.Kept, cmpopts.EquateEmpty()); diff != "" {
		s.Errorf("kept by another round (-want +got):\n%s", diff)
	}
}

func strs[T interface{ String() string }](all []T) (texts []string) {
	for _, one := range all {
		texts = append(texts, one.String())
	}
	return texts
}

// After a write to the parent that failed nobody knows what it says: it is read,
// even if the cache says what was known before.
func TestFailedWriteToTheParent(t *testing.T) {
	s := newSetScript(t)
	sets := s.sets(apply.Policy{})
	s.expect(append([]step{{reads, ok(setParent("ConfigMap", "Secret"))}}, joins("ConfigMap", "a")...)...)
	round := sets.Apply(t.Context(), setParent("ConfigMap", "Secret"), emitsConfigMap("a"))
	s.expect(
		step{lists, page("", member("a"))},
		step{strings.Replace(lists, "configmaps", "secrets", 1), page("")},
		step{announces("ConfigMap"), fail(apierrors.NewForbidden(configMaps, "web", nil))},
	)
	if _, err := round.Prune(t.Context()); !errors.Is(err, apply.ErrRefused) {
		t.Errorf("%v; want ErrRefused", err)
	}
	s.expect(append([]step{
		{reads, ok(setParent("ConfigMap"))}, {announces("ConfigMap,Secret"), ok(named("ConfigMap", "web"))},
	}, joins("Secret", "b")...)...)
	if round := sets.Apply(t.Context(), setParent("ConfigMap", "Secret"), emits(apply.Intent{Config: corev1ac.Secret("b", "shop")})); len(round.Errs) > 0 {
		t.Error(round.Errs)
	}
}

func TestPruneEndsWithTheContext(t *testing.T) {
	s := newSetScript(t)
	round := standing(s, s.sets(apply.Policy{}))
	var logged []string
	log := funcr.New(func(_, args string) { logged = append(logged, args) }, funcr.Options{})
	ctx, end := context.WithCancel(logr.NewContext(t.Context(), log))
	s.expect(step{lists, page("", member("b"), member("c"), member("d"))}, step{reads, ok(setParent("ConfigMap"))},
		step{deletes("b"), func(r *http.Request) (*http.Response, error) { end(); return deleted(200)(r) }})
	pruned, err := round.Prune(ctx)
	failed := (*applyset.PruneError)(nil)
	if !errors.As(err, &failed) || len(failed.Errs) != 1 || !errors.Is(err, context.Canceled) || len(pruned.Deleted) != 1 {
		t.Fatalf("%v, deleted %v; want the end of the context after one", err, pruned.Deleted)
	}
	if len(logged) != 1 || !strings.Contains(logged[0], `"pruned"`) {
		t.Errorf("logged: %q; want what was deleted", logged)
	}
	if !strings.HasPrefix(err.Error(), "pruning the set of ConfigMap shop/web: ") {
		t.Error(err)
	}
}
