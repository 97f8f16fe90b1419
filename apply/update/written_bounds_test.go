package update

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"coapply.dev/internal/recent"
)

// TestLastWritten: of many objects a bounded number is remembered, the last one among them,
// and none that a cache shows.
func TestLastWritten(t *testing.T) {
	const written = 3 * writtenKept
	w := lastWritten{versions: recent.New[types.UID, string](writtenKept)}
	object := func(i int, version string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: types.UID(fmt.Sprint(i)), ResourceVersion: version}}
	}
	for i := range written {
		w.sending(object(i, "5"))
		w.knows(object(i, "7"), true)
	}
	if !w.shows(object(0, "5")) {
		t.Errorf("the first of %d is remembered still", written)
	}
	last := written - 1
	if w.shows(object(last, "5")) || !w.shows(object(last, "8")) || !w.shows(object(last, "5")) {
		t.Error("the last one is not remembered until a cache shows it")
	}
	w.knows(object(last, "9"), false)
	if !w.shows(object(last, "5")) {
		t.Error("what was only read is remembered")
	}
	w.knows(object(last, "9"), true)
	w.knows(object(last, "8"), true)
	if w.shows(object(last, "8")) {
		t.Error("an answer that came late is taken for the last one")
	}
	w.knows(object(last, "10"), true)
	w.knows(object(last, "11"), true)
	if w.shows(object(last, "10")) {
		t.Error("the first of two answers is taken for the last one")
	}
	w.knows(object(last, "not a number"), true)
	if w.shows(object(last, "9")) || !w.shows(object(last, "not a number")) {
		t.Error("versions that cannot be compared: only the same one shows it")
	}
}
