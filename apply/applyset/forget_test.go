package applyset_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
)

// TestDeletedMembersAreEmittedWhole: an intent that gave way in a field leaves it out the next
// time, but not of the object that is made anew after a prune.
func TestDeletedMembersAreEmittedWhole(t *testing.T) {
	w := newWorld(t)
	theirs := corev1ac.ConfigMap("b", "shop").WithData(map[string]string{"k": "theirs"})
	w.Must(w.Apply(t.Context(), theirs, client.FieldOwner("other")))
	sets := w.sets(apply.OnConflict(apply.Relinquish))
	wanted := apply.Intent{Config: corev1ac.ConfigMap("b", "shop").WithData(map[string]string{"k": "ours", "l": "ours"})}
	for _, emitted := range []func() ([]apply.Intent, error){emits(wanted), emits(), emits(wanted)} {
		round := sets.Apply(t.Context(), w.parent(), emitted)
		w.Must(errors.Join(round.Errs...))
		_, err := round.Prune(t.Context())
		w.Must(err)
	}
	sent := slices.DeleteFunc(w.Bodies(), func(body string) bool { return !strings.Contains(body, `"name":"b"`) })
	if len(sent) != 3 || strings.Contains(sent[1], `"k"`) || !strings.Contains(sent[2], `"k"`) {
		t.Errorf("sent were %s", sent)
	}
}
