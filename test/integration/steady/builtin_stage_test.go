package steady

import (
	"fmt"
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/test/kit"
)

// builtinStage has one object of a built-in kind, applied to by an Applier of ours.
type builtinStage struct {
	*testing.T

	client  client.Client
	name    client.ObjectKey
	kind    schema.GroupVersionKind
	applier *apply.Applier
}

func newBuiltinStage(t *testing.T, kind schema.GroupVersionKind) *builtinStage {
	t.Helper()
	config := steadyConfig(t)
	c := kit.NewClient(t, config)
	applier, err := apply.New(c, apply.Config{FieldManager: kit.OurManager, LiveReader: c, Steady: kit.NewSteadyState(t, config, c, kind.GroupVersion())})
	if err != nil {
		t.Fatal(err)
	}
	return &builtinStage{t, c, client.ObjectKey{Namespace: kit.NewNamespace(t, c), Name: "odd"}, kind, applier}
}

func (s *builtinStage) intent(fields string) apply.Intent {
	s.Helper()
	return apply.Intent{Config: client.ApplyConfigurationFromUnstructured(fromYAML(s.T, fmt.Sprintf(
		"apiVersion: %s\nkind: %s\nmetadata: {name: %s, namespace: %s}\n%s\n", s.kind.GroupVersion(), s.kind.Kind, s.name.Name, s.name.Namespace, fields)))}
}

// costs applies an intent to the object as a typed and as an unstructured read show it, and holds how many requests each sends.
func (s *builtinStage) costs(when string, want int, fields string) {
	s.Helper()
	known, err := s.client.Scheme().New(s.kind)
	if err != nil {
		s.Fatal(err)
	}
	typed, _ := known.(client.Object)
	for _, read := range []client.Object{typed, kit.NewUnstructured(s.kind.GroupVersion().String(), s.kind.Kind, s.name)} {
		intent := s.intent(fields)
		if err := s.client.Get(s.Context(), s.name, read); err != nil {
			s.Fatal(err)
		}
		intent.Read = read
		outcome, err := s.applier.Apply(s.Context(), intent)
		if err != nil || outcome.Requests != want || want > 0 && outcome.Action != apply.Configured && outcome.Action != apply.Unchanged {
			s.Errorf("%s, read as %T: %+v, %v; want %d requests", when, read, outcome, err, want)
		}
		if want > 0 {
			return // the next read is of what was written
		}
	}
}

// first makes the object.
func (s *builtinStage) first(fields string) {
	s.Helper()
	if outcome, err := s.applier.Apply(s.Context(), s.intent(fields)); err != nil || outcome.Action != apply.Created {
		s.Fatalf("%+v, %v", outcome, err)
	}
}

// other has another writer patch the object.
func (s *builtinStage) other(patch string) {
	s.Helper()
	object := kit.NewUnstructured(s.kind.GroupVersion().String(), s.kind.Kind, s.name)
	if err := s.client.Patch(s.Context(), object, client.RawPatch("application/merge-patch+json", []byte(patch)), client.FieldOwner("other")); err != nil {
		s.Fatal(err)
	}
}

func kindOf[T any](version schema.GroupVersion) schema.GroupVersionKind {
	return version.WithKind(reflect.TypeFor[T]().Name())
}
