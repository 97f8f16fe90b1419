package apply_test

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
)

func loose(object map[string]any) runtime.ApplyConfiguration {
	return client.ApplyConfigurationFromUnstructured(&unstructured.Unstructured{Object: object})
}

// deployment is an unstructured one with this metadata.
func deployment(metadata any) runtime.ApplyConfiguration {
	return loose(map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata})
}

// null is a configuration that encodes as null.
type null struct{}

func (*null) IsApplyConfiguration()        {}
func (*null) MarshalJSON() ([]byte, error) { return []byte("null"), nil }
func (*null) UnmarshalJSON(_ []byte) error { return nil }

// list is a configuration that is no object.
type list []string

func (*list) IsApplyConfiguration() {}

func TestInvalidIntents(t *testing.T) {
	nothing := (*appsv1ac.DeploymentApplyConfiguration)(nil)
	noKind := threeReplicas()
	noKind.Kind = nil
	noVersion := threeReplicas()
	noVersion.APIVersion = nil
	brokenVersion := threeReplicas().WithAPIVersion("a/b/c")
	read := map[string]any{"name": "web", "namespace": "shop", "resourceVersion": "7"}
	answered := map[string]any{"name": "web", "namespace": "shop", "managedFields": []any{}}
	circle := map[string]any{"apiVersion": "v1"}
	circle["spec"] = circle

	for name, test := range map[string]struct {
		config runtime.ApplyConfiguration
		says   string
	}{
		"nil":                     {nil, "must be a pointer that is not nil"},
		"nil pointer":             {nothing, "must be a pointer that is not nil"},
		"no pointer":              {*threeReplicas(), "must be a pointer that is not nil"},
		"nil unstructured":        {client.ApplyConfigurationFromUnstructured(nil), "contains a nil"},
		"empty unstructured":      {loose(nil), "apiVersion and kind are needed"},
		"null":                    {&null{}, "apiVersion and kind are needed"},
		"a list":                  {&list{"a"}, "cannot unmarshal array"},
		"a circle":                {loose(circle), "cycle"},
		"not a number":            {loose(map[string]any{"spec": math.NaN()}), "unsupported value"},
		"a channel":               {loose(map[string]any{"spec": make(chan int)}), "unsupported type"},
		"no kind":                 {noKind, "apiVersion and kind are needed"},
		"no version":              {noVersion, "for Deployment shop/web: apiVersion and kind are needed"},
		"broken version":          {brokenVersion, "unexpected GroupVersion string"},
		"kind is no string":       {loose(map[string]any{"apiVersion": "v1", "kind": 1}), "apiVersion and kind are needed"},
		"no name":                 {appsv1ac.Deployment("", "shop"), "a name is needed"},
		"generated name":          {appsv1ac.Deployment("", "shop").WithGenerateName("web-"), "a name is needed"},
		"no metadata":             {deployment(nil), "a name is needed"},
		"metadata is a string":    {deployment("web"), "a name is needed"},
		"metadata is a list":      {deployment([]any{"web"}), "a name is needed"},
		"name is a number":        {deployment(map[string]any{"name": 5}), "a name is needed"},
		"name leaves the URL":     {appsv1ac.Deployment("../web", "shop"), "for Deployment shop/../web: name"},
		"namespace leaves it":     {appsv1ac.Deployment("web", "shop/.."), "cannot be part of a URL"},
		"it was read":             {deployment(read), "metadata.resourceVersion"},
		"it is a server's answer": {deployment(answered), "metadata.managedFields"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			notCached(w)
			outcome, err := w.applier(force).
				Apply(t.Context(), apply.Intent{Config: test.config, MustExist: true})
			invalid := (*apply.IntentError)(nil)
			if !errors.As(err, &invalid) || !errors.Is(err, apply.ErrInvalidIntent) || !strings.Contains(err.Error(), test.says) {
				t.Errorf("%v; want an IntentError that says %q", err, test.says)
			}
			if outcome.Requests+outcome.Attempts != 0 || outcome.Action != "" {
				t.Errorf("outcome %+v", outcome)
			}
		})
	}
}

// Odd content that JSON can hold is sent as it is.
func TestOddIntents(t *testing.T) {
	deep := any("x")
	for range 500 {
		deep = map[string]any{"a": []any{deep}}
	}
	for name, spec := range map[string]any{
		"int":        map[string]any{"replicas": 3},
		"strings":    map[string]any{"list": []string{"a"}},
		"nil map":    map[string]any(nil),
		"nil":        nil,
		"deep":       deep,
		"large":      map[string]any{"replicas": int64(math.MaxInt64)},
		"empty":      map[string]any{"list": []any{}, "map": map[string]any{}},
		"dotted key": map[string]any{"a.b/c": map[string]any{"": 1}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newEmptyWorld(t)
			kind := w.Gadgets()
			object := map[string]any{"apiVersion": kind.GroupVersion().String(), "kind": kind.Kind, "spec": spec,
				"metadata": map[string]any{"name": "web", "namespace": "shop"}}
			_, err := w.applier(apply.Policy{}).Apply(t.Context(), apply.Intent{Config: loose(object)})
			w.Must(err)
			raw, err := json.Marshal(object)
			if err != nil || canonical(t, w.Bodies()[0]) != canonical(t, string(raw)) {
				t.Errorf("sent %s, %v; want %s", w.Bodies()[0], err, raw)
			}
		})
	}
}
