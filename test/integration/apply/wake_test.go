package apply

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev"
	"coapply.dev/apply"
	"coapply.dev/apply/reconciler"
	"coapply.dev/test/kit"
)

// foreign is what others do to a child that is no business of its reconciler.
var foreign = []struct {
	reason string
	do     func(w *wakeWorld, name string)
}{
	{"a status", func(w *wakeWorld, name string) {
		w.patch(name, "status", `{"status":{"observedGeneration":1,"conditions":[{"type":"Seen","status":"True"}]}}`)
	}},
	{"the same condition again", func(w *wakeWorld, name string) {
		w.patch(name, "status", `{"status":{"conditions":[{"type":"Seen","status":"False"}]}}`)
	}},
	{"an annotation", func(w *wakeWorld, name string) {
		w.patch(name, "", `{"metadata":{"annotations":{"example.com/note":"a"}}}`)
	}},
	{"the annotation's value", func(w *wakeWorld, name string) {
		w.patch(name, "", `{"metadata":{"annotations":{"example.com/note":"b"}}}`)
	}},
	{"the annotation's end", func(w *wakeWorld, name string) {
		w.patch(name, "", `{"metadata":{"annotations":{"example.com/note":null}}}`)
	}},
	{"a label and a finalizer", func(w *wakeWorld, name string) {
		w.patch(name, "", `{"metadata":{"labels":{"team":"red"},"finalizers":["example.com/hold"]}}`)
	}},
	{"the finalizer's end", func(w *wakeWorld, name string) { w.patch(name, "", `{"metadata":{"finalizers":[]}}`) }},
	{"a field of the spec", func(w *wakeWorld, name string) { w.patch(name, "", `{"spec":{"minReadySeconds":7}}`) }},
	{"another applier's field", func(w *wakeWorld, name string) {
		theirs := kit.Deployment(name, w.namespace, "")
		theirs.Spec, theirs.Labels = nil, nil
		theirs.WithAnnotations(map[string]string{"example.com/other": "x"})
		if err := w.others.Apply(w.Context(), theirs, client.FieldOwner("other-applier")); err != nil {
			w.Fatal(err)
		}
	}},
}

// TestForeignChangesDoNotWake: what others write to a child beside our fields leads to no
// reconcile, unless Status may look at it.
func TestForeignChangesDoNotWake(t *testing.T) {
	t.Parallel()
	owns := func(b *coapply.Builder[*corev1.ConfigMap]) *coapply.Builder[*corev1.ConfigMap] {
		return b.Owns(&appsv1.Deployment{})
	}
	status := func(context.Context, *corev1.ConfigMap, reconciler.Applied) (reconciler.Report[*corev1.ConfigMap], error) {
		return reconciler.Report[*corev1.ConfigMap]{}, nil
	}
	for _, test := range []struct {
		reason string
		build  func(*coapply.Builder[*corev1.ConfigMap]) *coapply.Builder[*corev1.ConfigMap]
		wakes  bool
	}{
		{"no status", owns, false},
		{"a status that reads the ready replicas", func(b *coapply.Builder[*corev1.ConfigMap]) *coapply.Builder[*corev1.ConfigMap] {
			return b.Status(status).Owns(&appsv1.Deployment{}, coapply.Reading(func(d *appsv1.Deployment) any { return d.Status.ReadyReplicas }))
		}, false},
		{"a status that may read anything", func(b *coapply.Builder[*corev1.ConfigMap]) *coapply.Builder[*corev1.ConfigMap] {
			return owns(b.Status(status))
		}, true},
	} {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			w := newWakeWorld(t, apply.OnConflict(apply.Force), test.build)
			w.parent("web")
			for _, change := range foreign {
				before := w.count("web")
				change.do(w, "web")
				w.arrived("web")
				if test.wakes {
					w.wantWake("web", change.reason, before)
					w.rest()
					continue
				}
				w.rest()
				if n := w.count("web") - before; n != 0 {
					t.Errorf("%s: %d reconciles, want none", change.reason, n)
				}
			}
		})
	}
}

func (w *wakeWorld) wantWake(name, reason string, before int) {
	w.Helper()
	kit.WaitFor(w.T, reason+" wakes the reconciler", func() string {
		if w.count(name) == before {
			return "it has not"
		}
		return ""
	})
}

const nobodys = "the owner reference"

// drift is what others do to a child that its reconciler has to see.
var drift = []struct {
	reason string
	do     func(w *wakeWorld, name string)
}{
	{"another value", func(w *wakeWorld, name string) { w.patch(name, "", `{"spec":{"revisionHistoryLimit":9}}`) }},
	{"a field removed", func(w *wakeWorld, name string) { w.patch(name, "", `{"metadata":{"labels":{"tier":null}}}`) }},
	{"another value through the scale", func(w *wakeWorld, name string) { w.patch(name, "scale", `{"spec":{"replicas":8}}`) }},
	{"another value by force", func(w *wakeWorld, name string) {
		if err := w.others.Apply(w.Context(), kit.Replicas(name, w.namespace, 6), client.FieldOwner("taker"), client.ForceOwnership); err != nil {
			w.Fatal(err)
		}
	}},
	{"the same value by force, which shares it", func(w *wakeWorld, name string) {
		if err := w.others.Apply(w.Context(), kit.Replicas(name, w.namespace, 3), client.FieldOwner("sharer"), client.ForceOwnership); err != nil {
			w.Fatal(err)
		}
	}},
	{"the end of sharing", func(w *wakeWorld, name string) {
		if err := w.others.Apply(w.Context(), kit.Replicas(name, w.namespace, 3), client.FieldOwner("sharer"), client.ForceOwnership); err != nil {
			w.Fatal(err)
		}
		w.arrived(name)
		w.rest()
		w.mu.Lock()
		w.reconciles[name] = 0
		w.mu.Unlock()
		nothing := kit.Replicas(name, w.namespace, 3)
		nothing.Spec = nil
		if err := w.others.Apply(w.Context(), nothing, client.FieldOwner("sharer")); err != nil {
			w.Fatal(err)
		}
	}},
	{"the ownership alone", func(w *wakeWorld, name string) {
		child := w.child(name)
		for i, entry := range child.ManagedFields {
			if entry.Manager == wakeManager {
				left := strings.Replace(entry.FieldsV1.GetRawString(), `"f:revisionHistoryLimit":{},`, "", 1)
				child.ManagedFields[i].FieldsV1 = metav1.NewFieldsV1(left)
			}
		}
		if err := w.others.Update(w.Context(), child, client.FieldOwner("forger")); err != nil {
			w.Fatal(err)
		}
	}},
	{"all managed fields wiped", func(w *wakeWorld, name string) { w.patch(name, "", `{"metadata":{"managedFields":[{}]}}`) }},
	{nobodys, func(w *wakeWorld, name string) {
		w.patch(name, "", `{"metadata":{"ownerReferences":[]}}`)
	}},
	{"an owner reference more", func(w *wakeWorld, name string) {
		child := w.child(name)
		more := *metav1ac.OwnerReference().WithAPIVersion("v1").WithKind("Node").WithName("x").WithUID("7")
		raw, _ := json.Marshal([]any{child.OwnerReferences[0], more})
		w.patch(name, "", `{"metadata":{"ownerReferences":`+string(raw)+`}}`)
	}},
	{"its deletion", func(w *wakeWorld, name string) {
		if err := w.others.Delete(w.Context(), w.child(name)); err != nil {
			w.Fatal(err)
		}
	}},
	{"its deletion, held by a finalizer", func(w *wakeWorld, name string) {
		w.patch(name, "", `{"metadata":{"finalizers":["example.com/hold"]}}`)
		if err := w.others.Delete(w.Context(), w.child(name)); err != nil {
			w.Fatal(err)
		}
	}},
	{"what Status reads", func(w *wakeWorld, name string) {
		w.patch(name, "status", `{"status":{"replicas":1,"readyReplicas":1}}`)
	}},
}

// TestDriftWakes: each way in which a child comes to differ from what was applied leads to a
// reconcile, and what can be restored is.
func TestDriftWakes(t *testing.T) {
	t.Parallel()
	w := newWakeWorld(t, apply.OnConflict(apply.Force), func(b *coapply.Builder[*corev1.ConfigMap]) *coapply.Builder[*corev1.ConfigMap] {
		return b.Owns(&appsv1.Deployment{}, coapply.Reading(func(d *appsv1.Deployment) any { return d.Status.ReadyReplicas })).
			Status(func(context.Context, *corev1.ConfigMap, reconciler.Applied) (reconciler.Report[*corev1.ConfigMap], error) {
				return reconciler.Report[*corev1.ConfigMap]{}, nil
			})
	})
	for i, test := range drift {
		name := fmt.Sprint("web-", i)
		w.parent(name)
		before := w.count(name)
		if test.reason == "the end of sharing" {
			before = 0
		}
		test.do(w, name)
		w.wantWake(name, test.reason, before)
		kit.WaitFor(t, test.reason+" is put right", func() string {
			child := &appsv1.Deployment{}
			if err := w.others.Get(t.Context(), w.key(name), child); err != nil {
				return err.Error()
			}
			ours := slices.IndexFunc(child.ManagedFields, func(entry metav1.ManagedFieldsEntry) bool { return entry.Manager == wakeManager })
			switch {
			case child.DeletionTimestamp != nil:
				return "" // it goes when its finalizer does
			case test.reason == nobodys:
				return "" // what has no owner is not taken
			case *child.Spec.Replicas != 3, *child.Spec.RevisionHistoryLimit != 5, child.Labels["tier"] != "web", len(child.OwnerReferences) == 0:
				return fmt.Sprintf("it is %+v", child.Spec)
			case ours < 0 || !strings.Contains(child.ManagedFields[ours].FieldsV1.GetRawString(), "f:revisionHistoryLimit"):
				return "it is not ours"
			}
			return ""
		})
	}
}

// TestConflictWakes: while a conflict is there, every change of the child leads to another try,
// so that its end is not missed.
func TestConflictWakes(t *testing.T) {
	t.Parallel()
	w := newWakeWorld(t, apply.Policy{}, func(b *coapply.Builder[*corev1.ConfigMap]) *coapply.Builder[*corev1.ConfigMap] {
		return b.Owns(&appsv1.Deployment{})
	})
	w.parent("web")
	before := w.count("web")
	w.patch("web", "scale", `{"spec":{"replicas":8}}`)
	w.wantWake("web", "a conflict", before)
	w.rest()
	for _, step := range []string{
		`{"metadata":{"annotations":{"example.com/note":"a"}}}`,
		`{"spec":{"replicas":3}}`, // as the intent has it: no conflict any more
	} {
		before = w.count("web")
		w.patch("web", "", step)
		w.wantWake("web", step, before)
		w.rest()
	}
	kit.WaitFor(t, "the replicas are ours again", func() string {
		if owners := kit.OwnersOf(t, w.others, w.namespace, "web", ".spec.replicas"); !slices.ContainsFunc(owners, func(owner string) bool {
			return strings.Contains(owner, wakeManager)
		}) {
			return fmt.Sprint("they are of ", owners)
		}
		return ""
	})
}
