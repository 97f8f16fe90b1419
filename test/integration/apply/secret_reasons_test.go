package apply

import (
	"net/http"
	"strings"
	"testing"

	admission "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/update"
	"coapply.dev/test/kit"
)

// TestSecretRefusals: the error of a refused Secret shows the reason of the API server, and no
// value.
func TestSecretRefusals(t *testing.T) {
	const password, encoded = "hunter2-password", "aHVudGVyMi1wYXNzd29yZA=="
	c := kit.NewClient(t, kit.Server(t))
	namespace := kit.NewNamespace(t, c)
	for _, secret := range []*corev1.Secret{
		{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "immutable"}, Immutable: new(true), StringData: map[string]string{"a": "b"}},
		{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "opaque"}},
	} {
		if err := c.Create(t.Context(), secret, client.FieldOwner("them")); err != nil {
			t.Fatal(err)
		}
	}
	webhook := kit.NewWebhook(t, c, namespace)
	applier, updater := kit.NewApplier(t, c, "us", apply.OnConflict(apply.Force)), newUpdater(t, c, update.DefaultRetry)
	secretOf := func(name string, content map[string]any) apply.Intent {
		content["apiVersion"], content["kind"] = "v1", "Secret"
		content["metadata"] = map[string]any{"namespace": namespace, "name": name}
		return apply.Intent{Config: client.ApplyConfigurationFromUnstructured(&unstructured.Unstructured{Object: content})}
	}
	data := func(value any) map[string]any { return map[string]any{"data": map[string]any{"password": value}} }
	for reason, test := range map[string]struct {
		intent apply.Intent
		denies bool
		says   string
	}{
		"immutable":  {secretOf("immutable", data(encoded)), false, "data: Forbidden: field is immutable when `immutable` is set"},
		"type":       {secretOf("opaque", map[string]any{"type": "kubernetes.io/tls", "stringData": map[string]any{"tls.crt": password, "tls.key": password}}), false, "type: (hidden): field is immutable"},
		"required":   {secretOf("new", map[string]any{"type": "kubernetes.io/tls", "data": map[string]any{"password": encoded}}), false, "data[tls.crt]: Required value"},
		"too long":   {secretOf("new", map[string]any{"stringData": map[string]any{"password": strings.Repeat(password, 1<<20/len(password)+1)}}), false, "data: Too long"},
		"wrong type": {secretOf("new", data(map[string]any{"value": password})), false, ""},
		"a webhook":  {secretOf("new", data(encoded)), true, `admission webhook "references.example.com"`},
	} {
		if webhook.Answer(nil); test.denies {
			webhook.Answer(func(*admission.AdmissionRequest) *metav1.Status {
				return &metav1.Status{Status: metav1.StatusFailure, Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: password + " is weak"}
			})
		}
		_, err := applier.Apply(t.Context(), test.intent)
		if apply.ResultOf(err) != "Refused" || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v, want it refused with %q", reason, err, test.says)
		}
		if err != nil && (strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), encoded)) {
			t.Errorf("%s: a value is shown: %v", reason, err)
		}
	}
	webhook.Answer(nil)
	named := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "immutable"}}
	_, err := update.Do(t.Context(), updater, named, func(s *corev1.Secret) error { s.Data["a"] = []byte(password); return nil })
	if err == nil || !strings.Contains(err.Error(), "field is immutable when") || strings.Contains(err.Error(), encoded) {
		t.Errorf("update: %v", err)
	}
}
