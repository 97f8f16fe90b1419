package ownership_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/ownership"
	"coapply.dev/test/kit/answers"
)

// TestTransferredFieldsAreSent: an intent that gave way in a field leaves it out the next time,
// but for when the field has come to its manager: left out, the server would remove it.
func TestTransferredFieldsAreSent(t *testing.T) {
	theirs := entry("autoscaler", "Apply", "", `{"f:spec":{"f:replicas":{}}}`)
	ours := entry(manager, "Apply", "", `{"f:spec":{"f:paused":{}}}`)
	both := entry(manager, "Apply", "", `{"f:spec":{"f:paused":{},"f:replicas":{}}}`)
	var bodies []string
	script := []answer{
		answers.Conflict(answers.Cause(".spec.replicas", `"autoscaler"`)), // the whole intent
		ok(exampleObject("7", 5, theirs)),                                 // read
		ok(exampleObject("8", 5, theirs, ours)),                           // what is left of it
		ok(exampleObject("8", 5, theirs, ours)), stores("9"),              // the transfer
		ok(exampleObject("9", 5, both)), ok(exampleObject("10", 3)), // and the intent again
	}
	server := roundTripper(func(r *http.Request) (*http.Response, error) {
		if len(bodies) == len(script) {
			return nil, errors.New("no more was expected")
		}
		var raw []byte
		if r.Body != nil {
			raw, _ = io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(raw))
		}
		bodies = append(bodies, string(raw))
		return script[len(bodies)-1](r)
	})
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(appsv1.SchemeGroupVersion.WithKind("Deployment"), meta.RESTScopeNamespace)
	c, err := client.New(&rest.Config{Host: "http://server", Transport: server}, client.Options{Mapper: mapper})
	if err != nil {
		t.Fatal(err)
	}
	applier, err := apply.New(c, apply.Config{FieldManager: manager, LiveReader: c, Policy: apply.OnConflict(apply.Relinquish)})
	if err != nil {
		t.Fatal(err)
	}
	wanted := apply.Intent{Config: client.ApplyConfigurationFromUnstructured(&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "web", "namespace": "shop"},
		"spec": map[string]any{"replicas": int64(3), "paused": false},
	}})}
	if _, err := applier.Apply(t.Context(), wanted); err != nil {
		t.Fatal(err)
	}
	transfer, err := ownership.Rename(t.Context(), applier, webDeployment, ownership.From{Manager: "autoscaler"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := transfer.Do(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := applier.Apply(t.Context(), wanted); err != nil {
		t.Fatal(err)
	}
	if left, again := bodies[2], bodies[len(bodies)-1]; strings.Contains(left, "replicas") || !strings.Contains(again, "replicas") {
		t.Errorf("after the conflict %s was sent, after the transfer %s", left, again)
	}
}
