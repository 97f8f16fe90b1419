package applyset_test

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/applyset"
)

// What kubectl makes of the same parent (its tests have it).
func TestApplySetID(t *testing.T) {
	parent := apply.ObjectRef{
		GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Secret"),
		NamespacedName:   types.NamespacedName{Namespace: "test", Name: "my-set"},
	}
	if got := applyset.ID(parent); got != "applyset-0eFHV8ySqp7XoShsGvyWFQD3s96yqwHmzc4e0HR1dsY-v1" {
		t.Error(got)
	}
}

func TestParentsRefused(t *testing.T) {
	for says, parent := range map[string]client.Object{
		"is <nil>(nil)":                     nil,
		"is *v1.ConfigMap(nil)":             (*corev1.ConfigMap)(nil),
		"has no resourceVersion":            &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "uid-1"}},
		"has no uid":                        &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "web"}},
		"looking up the kind of the":        &metav1.PartialObjectMetadata{},
		"the kind of the ApplySet's parent": struct{ *corev1.ConfigMap }{},
	} {
		round := newWorld(t).sets(apply.Policy{}).Apply(t.Context(), parent, emitsConfigMap("a"))
		if err := errors.Join(round.Errs...); !errors.Is(err, apply.ErrInvalidIntent) || !strings.Contains(err.Error(), says) {
			t.Errorf("%v; want it to say %q", err, says)
		}
	}
}

// A long field manager leaves room for the parent's.
func TestLongFieldManager(t *testing.T) {
	w := newWorld(t)
	long := strings.Repeat("m", 127) + "é"
	c := w.client(w.Config())
	for _, name := range []string{long[:127], long[:120] + "ééé"} {
		applier, err := apply.New(c, apply.Config{FieldManager: name, LiveReader: c})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := applyset.New(applier); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
