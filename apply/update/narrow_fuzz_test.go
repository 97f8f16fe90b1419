package update

import (
	"errors"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// FuzzNarrow: whatever the server has and whatever is made of it, what is sent reads as what was meant, and nothing is
// sent where nothing was meant. A write is refused only for a field that the Go type lacks.
func FuzzNarrow(f *testing.F) {
	for _, seed := range [][2]string{
		{`{"containers":[{"name":"a","resources":{"limits":{"cpu":"1000m"}},"future":{"x":[1.5]}}],"volumes":null}`, `{"containers":[{"name":"a","image":"b"}]}`},
		{`{"containers":[{"name":"gone"},{"name":"a","future":1},{"name":"b"}]}`, `{"containers":[{"name":"b"},{"name":"c"},{"name":"a","image":"x"}]}`},
		{`{"containers":[{"name":"a","ports":[{"containerPort":53,"protocol":"UDP"},{"containerPort":53,"protocol":"TCP"}]}]}`, `{"containers":[{"name":"a","ports":[{"containerPort":53,"protocol":"TCP","hostPort":1}]}]}`},
		{`{"nodeSelector":{"a":"b","c":""},"tolerations":[{"key":"a"},{"key":"a"}]}`, `{"nodeSelector":{"c":"d"},"tolerations":[{"key":"a"}]}`},
		{`{"containers":[{"name":"a","env":[{"name":"X","value":"1"},{"name":"X","value":"2"}]}]}`, `{"containers":[{"name":"a","env":[{"name":"X","value":"2"},{"name":"Y"}]}]}`},
		{`{"containers":[],"tolerations":[{"key":"a","future":1},{"key":"b"}]}`, `{"containers":[],"tolerations":[{"key":"a","operator":"Exists"},{"key":"b"}]}`},
		{`{"containers":[],"tolerations":[{"key":"a","future":1},{"key":"a"}]}`, `{"containers":[],"tolerations":[{"key":"a"}]}`},
	} {
		f.Add(seed[0], seed[1])
	}
	known := podSchema(f)
	f.Fuzz(func(t *testing.T, was, is string) {
		live, before := podOf(t, was)
		_, after := podOf(t, is)
		same, err := narrowing{schema: known}.narrow(live, before, before.DeepCopy())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(live.Object, same.Object); diff != "" {
			t.Errorf("nothing was changed, and it is sent otherwise (-live +sent):\n%s", diff)
		}
		sent, err := narrowing{schema: known}.narrow(live, before, after)
		if errors.Is(err, ErrUnknownField) && unknownTo(place{goType: reflect.TypeFor[*corev1.Pod]()}, live.Object, nil) != "" {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		read := &corev1.Pod{}
		if err := decode(sent, read); err != nil {
			t.Fatalf("what is sent cannot be read: %v\n%v", err, sent.Object)
		}
		if !equality.Semantic.DeepEqual(read.Spec, after.Spec) {
			t.Errorf("(-meant +sent):\n%s", cmp.Diff(after.Spec, read.Spec))
		}
	})
}

// podOf reads the spec of a pod as a server sends it, and as a Go value. What is neither is skipped.
func podOf(t *testing.T, spec string) (*unstructured.Unstructured, *corev1.Pod) {
	var content map[string]any
	if err := utiljson.Unmarshal([]byte(spec), &content); err != nil || content == nil {
		t.Skip()
	}
	live := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Pod", "spec": content}}
	pod := &corev1.Pod{}
	if err := decode(live, pod); err != nil {
		t.Skip()
	}
	return live, pod
}
