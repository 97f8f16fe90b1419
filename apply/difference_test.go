package apply_test

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/fieldowners"
)

// admission changes the object of each apply, as a mutating webhook does.
func (w *world) admission(change func(object map[string]any)) {
	w.wrap = append(w.wrap, func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
			if request.Method != http.MethodPatch {
				return next.RoundTrip(request)
			}
			var object map[string]any
			err := json.NewDecoder(request.Body).Decode(&object)
			if err != nil {
				return nil, err
			}
			change(object)
			body, err := json.Marshal(object)
			if err != nil {
				return nil, err
			}
			request = request.Clone(request.Context())
			request.Body, request.ContentLength = io.NopCloser(strings.NewReader(string(body))), int64(len(body))
			return next.RoundTrip(request)
		})
	})
}

// sets is an admission that sets a field.
func sets(value any, path ...string) func(map[string]any) {
	return func(object map[string]any) {
		if err := unstructured.SetNestedField(object, value, path...); err != nil {
			panic(err)
		}
	}
}

// TestDiffers compares what was sent with the answer, field by field of ours.
func TestDiffers(t *testing.T) {
	const byAdmission = ".spec.replicas is 5, not 3 as wanted: changed by admission or the API server"
	others := entry("others", "Update", "", `{"f:spec":{"f:strategy":{}}}`)
	five := sets(int64(5), "spec", "replicas")
	cpu := threeReplicas()
	cpu.Spec.WithTemplate(corev1ac.PodTemplateSpec().WithSpec(corev1ac.PodSpec().WithContainers(corev1ac.Container().WithName("web").
		WithResources(corev1ac.ResourceRequirements().WithRequests(corev1.ResourceList{"cpu": resource.MustParse("1000m")})))))
	paused := threeReplicas()
	paused.Spec.WithPaused(true)
	for reason, test := range map[string]struct {
		config    runtime.ApplyConfiguration // replicas and a pause of false, unless given
		owners    []metav1.ManagedFieldsEntry
		admission []func(map[string]any)
		want      []string
	}{
		"admission changed it":                  {admission: []func(map[string]any){five}, want: []string{byAdmission}},
		"another manager owns it, and not both": {paused, []metav1.ManagedFieldsEntry{kubectl, hpa}, []func(map[string]any){five}, []string{".spec.replicas is 5, not 3 as wanted: changed by hpa/Update[scale]"}},
		"two fields": {
			admission: []func(map[string]any){five, sets(true, "spec", "paused")},
			want:      []string{".spec.paused is true, not false as wanted: changed by admission or the API server", byAdmission},
		},
		"nobody looks at another's": {
			owners:    []metav1.ManagedFieldsEntry{hpa},
			admission: []func(map[string]any){func(object map[string]any) { unstructured.RemoveNestedField(object, "spec", "replicas") }},
		},
		"we did not want it":      {admission: []func(map[string]any){five, sets(int64(4), "spec", "minReadySeconds")}, want: []string{byAdmission}},
		"a quantity spelled as 1": {config: cpu, admission: []func(map[string]any){five}, want: []string{byAdmission}},
		"somebody's entry is forged": {
			owners: []metav1.ManagedFieldsEntry{entry("broken", "Update", "", deep(""))}, admission: []func(map[string]any){five}, want: []string{byAdmission},
		},
		"all is as wanted": {},
	} {
		t.Run(reason, func(t *testing.T) {
			if test.config == nil {
				test.config = replicasAndPause()
			}
			w := newWorld(t, append(test.owners, others)...)
			for _, change := range test.admission {
				w.admission(change)
			}
			outcome, err := w.applier(apply.Policy{}).Apply(t.Context(), apply.Intent{Config: test.config})
			var got []string
			for _, difference := range outcome.Differ {
				got = append(got, difference.String())
			}
			slices.Sort(got)
			if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

// TestDiffersOfASecret tells which field differs, and no value. What is written as stringData
// is not in the answer.
func TestDiffersOfASecret(t *testing.T) {
	w := newEmptyWorld(t)
	w.admission(sets("dGhlaXItcGFzc3dvcmQ=", "data", "password"))
	config := corev1ac.Secret("web", "shop").WithData(map[string][]byte{"password": []byte(ourPassword)}).WithStringData(map[string]string{"user": "me"})
	outcome, err := w.applier(apply.Policy{}).Apply(t.Context(), apply.Intent{Config: config})
	if err != nil || len(outcome.Differ) != 1 {
		t.Fatalf("%v, %v; want one difference", outcome.Differ, err)
	}
	if got := outcome.Differ[0]; got.String() != ".data.password is (hidden), not (hidden) as wanted: changed by admission or the API server" ||
		got.Wanted != fieldowners.Hidden || got.Live != fieldowners.Hidden {
		t.Errorf("%v: %#v", got, got)
	}
}

// TestDiffersOfBytes: the server spells them its own way, and a text that only looks like bytes as it is.
func TestDiffersOfBytes(t *testing.T) {
	w := newEmptyWorld(t)
	w.admission(sets("YWI=", "data", "c"))
	outcome, err := w.applier(apply.Policy{}).Apply(t.Context(), apply.Intent{Config: loose(map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "web", "namespace": "shop"},
		"binaryData": map[string]any{"a": "YWI=\n"}, "data": map[string]any{"c": "YWI=\n"},
	})})
	if err != nil || len(outcome.Differ) != 1 || outcome.Differ[0].Path.String() != ".data.c" {
		t.Errorf("%v, %v", outcome.Differ, err)
	}
}

// TestDiffersOfBytesOfOtherKinds: only of the server's own kinds is it known that it spells
// bytes its own way. What a Secret calls stringData may be any field of another kind.
func TestDiffersOfBytesOfOtherKinds(t *testing.T) {
	w := newEmptyWorld(t)
	foreign := w.Gadgets()
	w.admission(func(object map[string]any) {
		sets("YWI=", "binaryData", "a")(object)
		sets("2", "stringData", "b")(object)
	})
	known := runtime.NewScheme()
	known.AddKnownTypeWithName(foreign, &corev1.Secret{})
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{foreign.GroupVersion()})
	mapper.Add(foreign, meta.RESTScopeNamespace)
	c, err := client.New(w.restConfig(), client.Options{Scheme: known, Mapper: mapper})
	w.Must(err)
	applier, err := apply.New(c, apply.Config{FieldManager: manager, LiveReader: c})
	w.Must(err)
	outcome, err := applier.Apply(t.Context(), apply.Intent{Config: loose(map[string]any{
		"apiVersion": foreign.GroupVersion().String(), "kind": foreign.Kind, "metadata": map[string]any{"name": "web", "namespace": "shop"},
		"binaryData": map[string]any{"a": "YWI=\n"}, "stringData": map[string]any{"b": "1"},
	})})
	if err != nil || len(outcome.Differ) != 2 {
		t.Errorf("%v, %v; want two differences", outcome.Differ, err)
	}
}

// TestDiffersNotOfABody: a Scale is answered as a Scale, whose owners nobody is told.
func TestDiffersNotOfABody(t *testing.T) {
	w := newWorld(t, entriesOf("scale")[1:]...)
	w.admission(sets(int64(5), "spec", "replicas"))
	outcome, err := w.applier(apply.Policy{}).Apply(t.Context(), scaleIntent())
	if err != nil || len(outcome.Differ) > 0 {
		t.Errorf("%v, %v", outcome.Differ, err)
	}
}
