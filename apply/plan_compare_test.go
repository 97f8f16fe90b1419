package apply_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/test/kit/memory"
)

// TestPlanTellsAll: what we take, gain, share and drop.
func TestPlanTellsAll(t *testing.T) {
	w := newEmptyWorld(t)
	web := memory.NewWeb()
	web.Labels, web.Annotations = map[string]string{"a": "1", "z": "1"}, map[string]string{"k": "1"}
	web.Spec.MinReadySeconds, web.Spec.RevisionHistoryLimit = 5, new(int32(4))
	w.Make(web, hpa, kubectl,
		entry(manager, "Apply", "", `{"f:metadata":{"f:annotations":{"f:k":{}}},"f:spec":{"f:minReadySeconds":{},"f:revisionHistoryLimit":{}}}`),
		entry("other", "Apply", "", `{"f:metadata":{"f:annotations":{"f:k":{}},"f:labels":{"f:a":{},"f:z":{}}},"f:spec":{"f:revisionHistoryLimit":{}}}`),
	)
	config := threeReplicas().WithLabels(map[string]string{"a": "1", "z": "1"})
	config.Spec.WithPaused(true)
	plan, err := w.applier(forcesReplicas).Plan(t.Context(), apply.Intent{Config: config})
	if err != nil {
		t.Fatal(err)
	}
	const want = `Deployment shop/web: would be configured by coapply-test
conflicts:
  Force .spec.replicas to 3: owned by hpa/Update[scale] with value 5
changes:
  .spec.minReadySeconds: removed 5
  .spec.replicas: 5 -> 3
taken:
  .spec.replicas: hpa/Update[scale] -> coapply-test/Apply
shared:
  .metadata.labels.a of other/Apply
  .metadata.labels.z of other/Apply
  .spec.paused of kubectl/Apply
gained:
  .metadata.labels.a
  .metadata.labels.z
  .spec.paused
dropped:
  .metadata.annotations.k: stays, owned by other/Apply
  .spec.minReadySeconds: removed, with its value 5
  .spec.revisionHistoryLimit: stays, owned by other/Apply
`
	if diff := cmp.Diff(want, plan.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// secretOf creates the Secret web, whose password is vault's.
func (w *world) secretOf(data map[string]string, owners ...metav1.ManagedFieldsEntry) {
	w.Helper()
	object := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}, StringData: data}
	w.Must(w.Create(w.Context(), object, client.FieldOwner("vault")))
	if len(owners) > 0 {
		memory.OwnAs(w.World, object, owners...)
	}
}

// dataEntry is a managed fields entry of a Secret.
func dataEntry(name string, operation metav1.ManagedFieldsOperationType, keys ...string) metav1.ManagedFieldsEntry {
	e := entry(name, operation, "", `{"f:data":{"f:`+strings.Join(keys, `":{},"f:`)+`":{}}}`)
	e.APIVersion = "v1"
	return e
}

// TestPlanOfASecret has no values.
func TestPlanOfASecret(t *testing.T) {
	w := newEmptyWorld(t)
	w.secretOf(map[string]string{"password": theirPassword, "user": "me"}, dataEntry("vault", "Update", "password"), dataEntry(manager, "Apply", "user"))
	config := corev1ac.Secret("web", "shop").WithData(map[string][]byte{"password": []byte(ourPassword), "fresh": []byte("new")})
	plan, err := w.applier(force).Plan(t.Context(), apply.Intent{Config: config})
	if err != nil {
		t.Fatal(err)
	}
	const want = `Secret shop/web: would be configured by coapply-test
conflicts:
  Force .data.password to (hidden): owned by vault/Update with value (hidden)
changes:
  .data.fresh: added (hidden)
  .data.password: (hidden) -> (hidden)
  .data.user: removed (hidden)
taken:
  .data.password: vault/Update -> coapply-test/Apply
gained:
  .data.fresh
dropped:
  .data.user: removed, with its value (hidden)
`
	if diff := cmp.Diff(want, plan.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// A value that is not there is not hidden.
	if plan.Changes[0].Before != nil || plan.Changes[2].After != nil {
		t.Errorf("%+v", plan.Changes)
	}
}
