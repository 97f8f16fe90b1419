package applyset_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/applytest"
)

// A parent that is not the one that was given, or has a set of others, stays as it is, and nothing is applied for it.
func TestParentsThatAreNotWrittenTo(t *testing.T) {
	for reason, test := range map[string]struct {
		happens func(*world)
		err     error
	}{
		"recreated":    {func(w *world) { w.recreateParent() }, apply.ErrUIDMismatch},
		"gone":         {func(w *world) { w.remove("web") }, apply.ErrUIDMismatch},
		"not readable": {func(w *world) { w.Answer(1, apierrors.NewForbidden(configMaps, "web", nil)) }, apply.ErrRefused},
		"another tool's": {func(w *world) {
			w.change("web", func(o *metav1.ObjectMeta) { o.Annotations["applyset.kubernetes.io/tooling"] = "kubectl/v1.27" })
		}, apply.ErrRefused},
		"another object's": {func(w *world) {
			w.change("web", func(o *metav1.ObjectMeta) { o.Labels["applyset.kubernetes.io/id"] = "applyset-other-v1" })
		}, apply.ErrRefused},
	} {
		t.Run(reason, func(t *testing.T) {
			w := newWorld(t, "a")
			cached := w.parent()
			test.happens(w)
			round := w.sets(apply.Policy{}).Apply(t.Context(), cached, emitsConfigMap("a"))
			if err := errors.Join(round.Errs...); !errors.Is(err, test.err) || len(round.Outcomes) > 0 {
				t.Errorf("%v, %+v; want %v", err, round.Outcomes, test.err)
			}
			w.WantSent(reads)
		})
	}
}

// A parent that never had a set, and emits nothing, gets none.
func TestNoSetForNothing(t *testing.T) {
	w := newWorld(t)
	round := w.sets(apply.Policy{}).Apply(t.Context(), w.parent(), emits())
	if _, err := round.Prune(t.Context()); err != nil {
		t.Error(err)
	}
	w.WantSent(reads)
}

// A parent with a generation needs no version: nothing is pinned to one.
func TestParentWithAGeneration(t *testing.T) {
	for _, versioned := range []bool{false, true} {
		w := newWorld(t)
		parent := w.Web()
		if !versioned {
			parent.ResourceVersion = ""
		}
		w.Answer(2, apierrors.NewForbidden(configMaps, "web", nil))
		round := w.sets(apply.Policy{}).Apply(t.Context(), parent, emitsConfigMap("a"))
		if err := errors.Join(round.Errs...); !errors.Is(err, apply.ErrRefused) || len(round.Outcomes) > 0 {
			t.Errorf("%v, %+v; want nothing applied", err, round.Outcomes)
		}
		w.WantSent("GET", "PATCH uid by "+manager+"-applyset")
	}
}

// An intent for the parent makes it no member: with MustExist it is as any other object that someone else creates.
func TestPartialIntentForTheParent(t *testing.T) {
	w := newWorld(t)
	round := w.sets(apply.Policy{}).Apply(t.Context(), w.parent(), emits(partial("web")))
	if len(round.Errs) > 0 {
		t.Error(round.Errs)
	}
	w.WantSent(reads, announces, reads, "PATCH configmaps/web uid")
}

// A parent that says other things than this process knows is read: a cache may be behind, and others may write to it.
func TestWhatTheParentSaysNow(t *testing.T) {
	for reason, test := range map[string]struct {
		removed bool
		sent    []string // after the parent is read again
	}{
		"the cache is behind": {false, []string{"PATCH configmaps/a"}},
		"its set was removed": {true, []string{announces, "PATCH configmaps/a", lists}},
	} {
		t.Run(reason, func(t *testing.T) {
			w := newWorld(t)
			behind := w.parent()
			w.earlier("a")
			sets := w.sets(apply.Policy{})
			round := w.standing(sets)
			if _, err := round.Prune(t.Context()); err != nil {
				t.Fatal(err)
			}
			w.wantNext(lists)
			if test.removed {
				w.change("web", func(o *metav1.ObjectMeta) { o.Labels, o.Annotations = nil, nil })
				behind = w.parent()
			}
			round = sets.Apply(t.Context(), behind, emitsConfigMap("a"))
			if _, err := round.Prune(t.Context()); err != nil {
				t.Error(err)
			}
			w.wantNext(append([]string{reads}, test.sent...)...)
		})
	}
}

// Nothing is deleted for a parent that is not the one that was emitted from.
func TestPruneHoldsTheParent(t *testing.T) {
	for name, test := range map[string]struct {
		happens func(*world)
		says    string // "": pruned
	}{
		"as it was":       {func(*world) {}, ""},
		"another version": {func(w *world) { w.touch("web") }, "the parent's resourceVersion has changed since the parent was read, and the parent's kind has no generation"},
		"being deleted":   {func(w *world) { w.removeSlowly("web") }, "the parent is being deleted"},
		"recreated":       {func(w *world) { w.recreateParent() }, "deleted or recreated"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "a", "b")
			round := w.standing(w.sets(apply.Policy{}))
			w.Before(2, func() { test.happens(w) })
			pruned, err := round.Prune(t.Context())
			if test.says == "" {
				w.wantNext(lists, reads, deletes("b"))
			} else {
				w.wantNext(lists, reads)
			}
			if test.says == "" && (err != nil || len(pruned.Deleted) != 1) {
				t.Errorf("%v, %+v; want b deleted", err, pruned)
			}
			if test.says != "" && (err == nil || !strings.Contains(err.Error(), test.says) || len(pruned.Deleted) != 0) {
				t.Errorf("%v, %+v; want nothing deleted and %q", err, pruned, test.says)
			}
		})
	}
}

// Nothing is deleted for a parent whose generation is not the one that was emitted from. Its resourceVersion may be another.
func TestPruneHoldsTheGeneration(t *testing.T) {
	for name, test := range map[string]struct {
		happens func(*world) // after the round
		says    string
	}{
		"another version": {func(w *world) {
			web := w.Live()
			web.Status.ObservedGeneration = 1
			w.Must(w.Status().Update(w.Context(), web))
		}, ""},
		"another generation": {func(w *world) { w.Merge("somebody", `{"spec":{"paused":false}}`) }, "the intents were computed from generation OLD of the parent, but the parent is now at generation NEW"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			earlier := w.setsOf(w.Server.Config(), apply.Policy{})
			w.Must(errors.Join(earlier.Apply(t.Context(), w.Web(), emitsConfigMap("a", "b")).Errs...))
			parent := w.Live()
			round := w.sets(apply.Policy{}).Apply(t.Context(), parent, emitsConfigMap("a"))
			w.Must(errors.Join(round.Errs...))
			test.happens(w)
			says := strings.NewReplacer("OLD", fmt.Sprint(parent.Generation), "NEW", fmt.Sprint(parent.Generation+1)).Replace(test.says)
			pruned, err := round.Prune(t.Context())
			if says == "" && (err != nil || len(pruned.Deleted) != 1) || says != "" && (err == nil || !strings.Contains(err.Error(), says) || len(pruned.Deleted) != 0) {
				t.Errorf("%v, %+v; want %q", err, pruned, says)
			}
		})
	}
}

// After a write whose answer was lost, no version is known: the next one is pinned to none, and tried three times.
func TestWritesAfterALostAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "x")
		w.remove("x")
		w.At(2, applytest.Fault{LoseRequest: true})
		secret := emits(apply.Intent{Config: corev1ac.Secret("a", "shop")})
		round := w.sets(apply.Policy{}).Apply(t.Context(), w.parent(), secret)
		w.wantNext(append([]string{reads, announces, unpinned}, joins("secrets", "a")...)...)
		for n := range 3 {
			w.At(3+n, applytest.Fault{LoseRequest: true})
		}
		if _, err := round.Prune(t.Context()); !errors.Is(err, apply.ErrRetryable) {
			t.Error(err)
		}
		w.wantNext(append([]string{lists, "GET secrets by label"}, slices.Repeat([]string{unpinned}, 3)...)...)
	})
}

// What the round itself writes to a parent without a generation is no change of it.
// What somebody else wrote before that is.
func TestPruneAfterAWriteToTheParent(t *testing.T) {
	touches := func(w *world) { w.touch("web") }
	for name, test := range map[string]struct {
		announcing func(*world)
		pruning    func(*world)
		announced  []string
		err        error
	}{
		"ours alone":        {nil, nil, []string{announces}, nil},
		"theirs after ours": {nil, touches, []string{announces}, apply.ErrRetryable},
		"theirs before ours": {
			func(w *world) { w.Before(2, func() { w.touch("web") }) }, nil, []string{announces, unpinned}, apply.ErrRetryable,
		},
		"the answer is lost": {
			func(w *world) { w.At(2, applytest.Fault{LoseAnswer: true}) }, nil, []string{announces, unpinned}, apply.ErrRetryable,
		},
		"a conflict that passes": {
			func(w *world) {
				record := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"applyset.kubernetes.io/contains-group-kinds":"Pod"}}}`))
				w.Before(2, func() { w.Must(w.Patch(w.Context(), named("web"), record, client.FieldOwner("x"))) })
				w.Before(3, func() {
					back := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"applyset.kubernetes.io/contains-group-kinds":null}}}`))
					w.Must(w.Patch(w.Context(), named("web"), back, client.FieldOwner("x")))
				})
			}, nil, []string{announces, unpinned}, apply.ErrRetryable,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "b")
			if test.announcing != nil {
				test.announcing(w)
			}
			round := w.sets(apply.Policy{}).Apply(t.Context(), w.parent(), emits(apply.Intent{Config: corev1ac.Secret("a", "shop")}))
			w.Must(errors.Join(round.Errs...))
			w.wantNext(append(append([]string{reads}, test.announced...), joins("secrets", "a")...)...)
			if test.pruning != nil {
				test.pruning(w)
			}
			pruned, err := round.Prune(t.Context())
			if !errors.Is(err, test.err) || test.err == nil && err != nil || (len(pruned.Deleted) == 1) != (test.err == nil) {
				t.Errorf("%v, %+v; want %v", err, pruned, test.err)
			}
			sent := []string{lists, "GET secrets by label", reads}
			if test.err == nil {
				sent = append(sent, deletes("b"), announces)
			}
			w.wantNext(sent...)
		})
	}
}
