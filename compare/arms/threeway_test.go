package arms

import (
	"context"
	"errors"
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"coapply.dev/compare"
)

// What a manager applied last decides what it takes away; a patch that did not land is none.
func TestThreeWayMergeRemembersWhatLanded(t *testing.T) {
	var refused error
	object := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a", UID: "1"}, Data: map[string]string{"foreign": "x"},
	}
	c := fake.NewClientBuilder().WithObjects(object).WithInterceptorFuncs(interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			if refused != nil {
				return refused
			}
			return c.Patch(ctx, o, p, opts...)
		},
	}).Build()
	arm := threeWayMerge(compare.Session{Client: func(string) client.Client { return c }})

	for _, step := range []struct {
		reason  string
		manager string
		wants   map[string]any
		refused error
		skipped bool
		want    map[string]string
	}{
		{"two keys", "m", map[string]any{"k": "1", "l": "1"}, nil, false, map[string]string{"foreign": "x", "k": "1", "l": "1"}},
		{"the same again", "m", map[string]any{"k": "1", "l": "1"}, nil, true, map[string]string{"foreign": "x", "k": "1", "l": "1"}},
		{"a patch that fails", "m", map[string]any{"k": "2"}, errors.New("refused"), false, map[string]string{"foreign": "x", "k": "1", "l": "1"}},
		{"another manager", "n", map[string]any{"n": "1"}, nil, false, map[string]string{"foreign": "x", "k": "1", "l": "1", "n": "1"}},
		{"a key less", "m", map[string]any{"k": "3"}, nil, false, map[string]string{"foreign": "x", "k": "3", "n": "1"}},
	} {
		refused = step.refused
		receipt, err := arm.Write(t.Context(), compare.Intent{
			Kind: corev1.SchemeGroupVersion.WithKind("ConfigMap"), Namespace: "default", Name: "a", Manager: step.manager,
			Configure: func(*unstructured.Unstructured) map[string]any { return map[string]any{"data": step.wants} },
		})
		if !errors.Is(err, step.refused) || receipt.Skipped != step.skipped {
			t.Fatalf("%s: %+v, error %v", step.reason, receipt, err)
		}
		var live corev1.ConfigMap
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(object), &live); err != nil {
			t.Fatal(err)
		}
		if !maps.Equal(live.Data, step.want) {
			t.Errorf("%s: %v, want %v", step.reason, live.Data, step.want)
		}
	}
}
