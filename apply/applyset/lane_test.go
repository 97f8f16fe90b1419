package applyset_test

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"coapply.dev/apply"
	"coapply.dev/apply/applyset"
	"coapply.dev/apply/lanes"
)

// TestPruneWaitsForTheLane: nothing is deleted while another one writes to it.
func TestPruneWaitsForTheLane(t *testing.T) {
	w := newWorld(t, "a", "b")
	c := w.client(w.Config())
	applier, err := apply.New(c, apply.Config{FieldManager: manager, LiveReader: c})
	w.Must(err)
	sets, err := applyset.New(applier)
	w.Must(err)
	round := w.standing(sets)
	object := apply.ObjectRef{GroupVersionKind: corev1.SchemeGroupVersion.WithKind("ConfigMap"),
		NamespacedName: types.NamespacedName{Namespace: "shop", Name: "b"}}
	inside, leave, err := applier.Config().Lanes.Enter(t.Context(), object.Key())
	if err != nil {
		t.Fatal(err)
	}
	defer leave()
	if _, err := round.Prune(inside); !errors.Is(err, lanes.ErrReentry) {
		t.Errorf("inside: %v", err)
	}
	w.wantNext(lists, reads)
}
