package kit

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	admission "k8s.io/api/admission/v1"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Webhook is a validating admission webhook for all writes in one namespace. It admits every
// request until Answer sets another response.
type Webhook struct {
	called atomic.Bool
	answer atomic.Pointer[func(*admission.AdmissionRequest) *metav1.Status]
}

// NewWebhook registers a Webhook, and waits until the API server calls it.
func NewWebhook(t *testing.T, c client.Client, namespace string) *Webhook {
	t.Helper()
	webhook := &Webhook{}
	server := httptest.NewTLSServer(webhook)
	t.Cleanup(server.Close)
	config := &admissionv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: namespace},
		Webhooks: []admissionv1.ValidatingWebhook{{
			Name: "references.example.com",
			ClientConfig: admissionv1.WebhookClientConfig{URL: new(server.URL), CABundle: pem.EncodeToMemory(
				&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})},
			SideEffects:             new(admissionv1.SideEffectClassNone),
			AdmissionReviewVersions: []string{"v1"},
			NamespaceSelector:       &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}},
			Rules: []admissionv1.RuleWithOperations{{
				Operations: []admissionv1.OperationType{admissionv1.OperationAll},
				Rule: admissionv1.Rule{APIGroups: []string{"*"}, APIVersions: []string{"*"}, Resources: []string{"*/*"},
					Scope: new(admissionv1.NamespacedScope)},
			}},
		}},
	}
	if err := c.Create(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Delete(context.Background(), config) })
	WaitFor(t, "the API server calls the webhook", func() string {
		probe := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "probe"}}
		if err := c.Create(t.Context(), probe, client.DryRunAll); err != nil {
			return err.Error()
		}
		if !webhook.called.Load() {
			return "not called yet"
		}
		return ""
	})
	return webhook
}

// Answer sets the function that answers each later request. The webhook admits a request if the
// function is nil or returns nil.
func (w *Webhook) Answer(answer func(*admission.AdmissionRequest) *metav1.Status) {
	if answer == nil {
		w.answer.Store(nil)
		return
	}
	w.answer.Store(&answer)
}

// NotFoundOf returns a function for Answer: a 404 about an object of the given name, as from a webhook that needs an
// object that does not exist.
func NotFoundOf(name string) func(*admission.AdmissionRequest) *metav1.Status {
	return func(*admission.AdmissionRequest) *metav1.Status {
		return &metav1.Status{
			Status: metav1.StatusFailure, Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound,
			Message: fmt.Sprintf("references.example.com %q not found", name), Details: &metav1.StatusDetails{Name: name},
		}
	}
}

// ServeHTTP implements http.Handler.
func (w *Webhook) ServeHTTP(out http.ResponseWriter, in *http.Request) {
	var review admission.AdmissionReview
	if err := json.NewDecoder(in.Body).Decode(&review); err != nil {
		http.Error(out, err.Error(), http.StatusBadRequest)
		return
	}
	w.called.Store(true)
	response := &admission.AdmissionResponse{UID: review.Request.UID, Allowed: true}
	if answer := w.answer.Load(); answer != nil {
		response.Result = (*answer)(review.Request)
		response.Allowed = response.Result == nil
	}
	review.Request, review.Response = nil, response
	_ = json.NewEncoder(out).Encode(review)
}
