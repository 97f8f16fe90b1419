package apply

import (
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
	"coapply.dev/test/kit"
)

// TestStatusChanges: a change of a child's status leads to a reconcile if Owns has ReadsStatus.
func TestStatusChanges(t *testing.T) {
	t.Parallel()
	for _, readsStatus := range []bool{false, true} {
		t.Run(fmt.Sprint(readsStatus), func(t *testing.T) {
			t.Parallel()
			w := newWakeWorld(t, apply.OnConflict(apply.Force), func(b *coapply.Builder[*corev1.ConfigMap]) *coapply.Builder[*corev1.ConfigMap] {
				if readsStatus {
					return b.Owns(&appsv1.Deployment{}, coapply.ReadsStatus)
				}
				return b.Owns(&appsv1.Deployment{})
			})
			w.parent("web")
			for _, status := range []string{
				`{"status":{"observedGeneration":1,"conditions":[{"type":"Seen","status":"True"}]}}`,
				`{"status":{"conditions":[{"type":"Seen","status":"False"}]}}`,
				`{"status":{"replicas":1,"readyReplicas":1}}`,
			} {
				before := w.count("web")
				w.patch("web", "status", status)
				w.arrived("web")
				if readsStatus {
					w.wantWake("web", status, before)
				}
				w.rest()
				if n := w.count("web") - before; !readsStatus && n != 0 {
					t.Errorf("%s: %d reconciles, want none", status, n)
				}
			}
		})
	}
}

// TestMetadataChanges: what others change of a child's metadata leads to a reconcile.
func TestMetadataChanges(t *testing.T) {
	t.Parallel()
	w := newWakeWorld(t, apply.OnConflict(apply.Force), func(b *coapply.Builder[*corev1.ConfigMap]) *coapply.Builder[*corev1.ConfigMap] {
		return b.Owns(&appsv1.Deployment{})
	})
	w.parent("web")
	for _, change := range []string{
		`{"metadata":{"annotations":{"example.com/note":"a"}}}`,
		`{"metadata":{"annotations":{"example.com/note":null}}}`,
		`{"metadata":{"labels":{"team":"red"}}}`,
		`{"metadata":{"finalizers":["example.com/hold"]}}`,
		`{"metadata":{"finalizers":[]}}`,
		`{"spec":{"minReadySeconds":7}}`,
	} {
		before := w.count("web")
		w.patch("web", "", change)
		w.wantWake("web", change, before)
		w.rest()
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
}

// TestDriftWakes: each way in which a child comes to differ from what was applied leads to a
// reconcile, and what can be restored is.
func TestDriftWakes(t *testing.T) {
	t.Parallel()
	w := newWakeWorld(t, apply.OnConflict(apply.Force), func(b *coapply.Builder[*corev1.ConfigMap]) *coapply.Builder[*corev1.ConfigMap] {
		return b.Owns(&appsv1.Deployment{})
	})
	for i, test := range drift {
		name := fmt.Sprint("web-", i)
		w.parent(name)
		before := w.count(name)
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
