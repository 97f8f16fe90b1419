package applytest_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/ownership"
)

// TestFakeClientIsNoServer holds what the comment of the package says of the fake client. One that
// fails here has learned something: then the comment is to be changed.
func TestFakeClientIsNoServer(t *testing.T) {
	force := func(content map[string]any) func(client.Client) error {
		return func(c client.Client) error {
			object := &unstructured.Unstructured{Object: content}
			return c.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(object), owner, client.ForceOwnership)
		}
	}
	for reason, call := range map[string]func(client.Client) error{
		"a field that the schema has not": force(map[string]any{
			"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"namespace": "shop", "name": "web"},
			"spec": map[string]any{"nothing": "x"},
		}),
		"a kind that nobody serves": force(map[string]any{
			"apiVersion": "example.com/v1", "kind": "None", "metadata": map[string]any{"namespace": "shop", "name": "web"},
		}),
		"a namespace that is not": func(c client.Client) error {
			return c.Apply(t.Context(), corev1ac.ConfigMap("settings", "nowhere"), owner)
		},
		"a body of another kind": func(c client.Client) error {
			body := &client.SubResourceApplyOptions{SubResourceBody: corev1ac.ConfigMap("web", "shop")}
			return c.SubResource("scale").Apply(t.Context(), threeReplicas(), owner, client.ForceOwnership, body)
		},
		"the uid of another object": func(c client.Client) error {
			defer func() {
				if got := live(t, c).UID; got != "other" {
					t.Errorf("uid %s, want the one of the apply", got)
				}
			}()
			return c.Apply(t.Context(), threeReplicas().WithUID("other"), owner, client.ForceOwnership)
		},
		"a dry run of an apply": func(c client.Client) error {
			defer func() {
				if got := *live(t, c).Spec.Replicas; got != 3 {
					t.Errorf("%d replicas, want it to have written", got)
				}
			}()
			return c.Apply(t.Context(), threeReplicas(), owner, client.ForceOwnership, client.DryRunAll)
		},
	} {
		t.Run(reason, func(t *testing.T) {
			if err := call(fakeClient()); err != nil {
				t.Errorf("it is refused: %v", err)
			}
		})
	}
}

// What the fake client makes by an apply has no uid, so nothing is pinned to it.
func TestFakeClientGivesNoUID(t *testing.T) {
	c := fakeClient()
	config := func(value string) apply.Intent {
		return apply.Intent{Config: corev1ac.ConfigMap("settings", "shop").WithData(map[string]string{"a": value})}
	}
	made, err := newApplier(t, c, apply.Policy{}).Apply(t.Context(), config("1"))
	if err != nil || made.Object.UID != "" {
		t.Fatalf("%v, uid %q", err, made.Object.UID)
	}
	other, err := apply.New(c, apply.Config{FieldManager: "other", LiveReader: c, Policy: apply.OnConflict(apply.Force)})
	if err != nil {
		t.Fatal(err)
	}
	_, forced := other.Apply(t.Context(), config("2"))
	_, released := ownership.Release(t.Context(), newApplier(t, c, apply.Policy{}), made.Object)
	_, renamed := ownership.Rename(t.Context(), other, made.Object, ownership.From{Manager: "test"})
	for verb, err := range map[string]error{"Force": forced, "Release": released, "Rename": renamed} {
		if !errors.Is(err, apply.ErrRefused) && !errors.Is(err, apply.ErrInvalidIntent) || !strings.Contains(fmt.Sprint(err), "uid") {
			t.Errorf("%s: %v, want refused for want of a uid", verb, err)
		}
	}
	if _, err := c.RESTMapper().RESTMappings(made.Object.GroupVersionKind.GroupKind()); err == nil {
		t.Error("its RESTMapper knows the kind, so Prune works")
	}
}
