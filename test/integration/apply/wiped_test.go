package apply

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/test/kit"
)

// TestWipedManagedFields: somebody empties the managed fields of an object and writes other values.
// An intent with Belongs forces its fields from before-first-apply, but no field of another owner
// and no field that a rule of the policy leaves to others. Without Belongs the policy decides.
func TestWipedManagedFields(t *testing.T) {
	t.Parallel()
	c := kit.NewClient(t, kit.Server(t))
	namespace := kit.NewNamespace(t, c)
	us, err := apply.New(c, apply.Config{FieldManager: "us", LiveReader: c, Policy: apply.OnConflict(apply.Reject).At(".data.left", apply.Relinquish)})
	if err != nil {
		t.Fatal(err)
	}
	config := func(image string) *corev1ac.ConfigMapApplyConfiguration {
		return corev1ac.ConfigMap("a", namespace).WithData(map[string]string{"image": image, "left": "1"})
	}
	belongs := func(image string) apply.Intent {
		return apply.Intent{Config: config(image), Belongs: kit.BelongsAlways}
	}
	if _, err := us.Apply(t.Context(), belongs("1")); err != nil {
		t.Fatal(err)
	}
	live := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "a"}}
	patch := func(body string) {
		t.Helper()
		if err := c.Patch(t.Context(), live, client.RawPatch("application/merge-patch+json", []byte(body))); err != nil {
			t.Fatal(err)
		}
	}
	patch(`{"metadata":{"managedFields":[{}]},"data":{"image":"x","left":"2","other":"x"}}`)
	if len(live.ManagedFields) > 0 {
		t.Fatal("the managed fields are still there")
	}

	if _, err := us.Apply(t.Context(), apply.Intent{Config: config("2")}); !errors.Is(err, apply.ErrConflict) || !strings.Contains(err.Error(), "before-first-apply") {
		t.Fatalf("without Belongs: %v; want a conflict with before-first-apply", err)
	}
	outcome, err := us.Apply(t.Context(), belongs("2"))
	if err != nil {
		t.Fatal(err)
	}
	var decided []string
	for _, conflict := range outcome.Conflicts {
		decided = append(decided, fmt.Sprint(conflict.Decision, " ", conflict.Path, " of ", conflict.Manager.Name))
	}
	if got := fmt.Sprint(decided); got != "[Force .data.image of before-first-apply Relinquish .data.left of before-first-apply]" {
		t.Errorf("conflicts: %s", got)
	}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(live), live); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(live.Data); got != "map[image:2 left:2 other:x]" {
		t.Errorf("data: %s", got)
	}

	theirs := corev1ac.ConfigMap("a", namespace).WithData(map[string]string{"image": "theirs"})
	if err := c.Apply(t.Context(), theirs, client.FieldOwner("other"), client.ForceOwnership); err != nil {
		t.Fatal(err)
	}
	if _, err := us.Apply(t.Context(), belongs("3")); !errors.Is(err, apply.ErrConflict) || !strings.Contains(err.Error(), "other/Apply") {
		t.Errorf("a field of another owner: %v; want a conflict with other/Apply", err)
	}
}
