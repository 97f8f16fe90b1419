package integration

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/yaml"

	"coapply.dev/apply"
	"coapply.dev/apply/reconciler"
	"coapply.dev/apply/update"
)

// newerPods stands for an API server whose pods have a field that our Go types lack, and
// cannot change: it is in what is read, and a write without it is refused, as it is for
// each field of a pod's spec that is as it was.
func newerPods(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		if !strings.Contains(request.URL.Path, "/pods/") {
			return next.RoundTrip(request)
		}
		if request.Method == http.MethodPut {
			body, err := io.ReadAll(request.Body)
			if err != nil {
				return nil, err
			}
			var sent map[string]any
			if err := json.Unmarshal(body, &sent); err != nil || fmt.Sprint(below(sent, "spec")["future"]) != "map[kept:1]" {
				return refusing(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid)()
			}
			delete(below(sent, "spec"), "future")
			if body, err = json.Marshal(sent); err != nil {
				return nil, err
			}
			request = request.Clone(request.Context())
			request.Body, request.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		}
		response, err := next.RoundTrip(request)
		if err != nil || request.Method != http.MethodGet || !strings.Contains(response.Header.Get("Content-Type"), "json") {
			return response, err
		}
		body, err := io.ReadAll(response.Body)
		if err := errors.Join(err, response.Body.Close()); err != nil {
			return nil, err
		}
		var pod map[string]any
		if err := json.Unmarshal(body, &pod); err == nil && response.StatusCode == http.StatusOK {
			below(pod, "spec")["future"] = map[string]any{"kept": 1}
			if body, err = json.Marshal(pod); err != nil {
				return nil, err
			}
		}
		response.Body, response.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		response.Header.Del("Content-Length")
		return response, nil
	})
}

// TestFinalizerOfANewerPod: a field that our types lack does not keep a pod for ever.
func TestFinalizerOfANewerPod(t *testing.T) {
	t.Parallel()
	direct := newClient(t, server(t))
	config := rest.CopyConfig(server(t))
	config.Wrap(newerPods)
	c := newClient(t, config)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: newNamespace(t, direct), Name: "a", Finalizers: []string{narrowFinalizer}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "registry.example.com/a:1"}}},
	}
	if err := direct.Create(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	if err := direct.Delete(t.Context(), pod, client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}
	updater, err := update.New(update.Config{Client: c, LiveReader: c, FieldManager: us})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := update.RemoveFinalizer(t.Context(), updater, pod, narrowFinalizer); err != nil {
		t.Fatal(err)
	}
	if err := direct.Get(t.Context(), client.ObjectKeyFromObject(pod), pod); !apierrors.IsNotFound(err) {
		t.Errorf("the pod is still there: %v", err)
	}
}

const dropsFinalizers = `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: drops-finalizers}
spec:
  failurePolicy: Fail
  reinvocationPolicy: Never
  matchConstraints:
    objectSelector: {matchLabels: {drops-finalizers: "yes"}}
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [UPDATE], resources: [configmaps]}]
  matchConditions: [{name: some, expression: "has(object.metadata.finalizers)"}]
  mutations:
  - patchType: JSONPatch
    jsonPatch: {expression: "[JSONPatch{op: 'remove', path: '/metadata/finalizers'}, JSONPatch{op: 'add', path: '/data', value: {'last': oldObject.metadata.resourceVersion}}]"}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: drops-finalizers}
spec: {policyName: drops-finalizers}
`

// TestFinalizerDroppedByAdmission: admission that takes our finalizer off, and changes
// something else each time, is an error of the reconcile: nothing is emitted, and the
// queue waits longer each time.
func TestFinalizerDroppedByAdmission(t *testing.T) {
	t.Parallel()
	c := newClient(t, steadyConfig(t))
	for document := range strings.SplitSeq(dropsFinalizers, "---\n") {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
			t.Fatal(err)
		}
		if err := c.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	parent := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: newNamespace(t, c), Name: "parent", Labels: map[string]string{"drops-finalizers": "yes"}}}
	if err := c.Create(t.Context(), parent); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the policy is in force", func() string {
		probe := parent.DeepCopy()
		probe.Finalizers = []string{narrowFinalizer}
		if err := c.Update(t.Context(), probe, client.DryRunAll); err != nil {
			return err.Error()
		}
		if len(probe.Finalizers) > 0 {
			return "it is not"
		}
		return ""
	})
	var emitted atomic.Int32
	updater, err := update.New(update.Config{Client: c, LiveReader: c, FieldManager: us})
	if err != nil {
		t.Fatal(err)
	}
	r, err := reconciler.New(reconciler.Config[*corev1.ConfigMap]{
		Client: c, Applier: newApplier(t, c, us, apply.Policy{}), Updater: updater, Finalizer: narrowFinalizer,
		Cleanup: func(context.Context, *corev1.ConfigMap) (bool, error) { return true, nil },
		Emit: func(parent *corev1.ConfigMap) (reconciler.Emission, error) {
			emitted.Add(1)
			return reconciler.Emission{Intents: []apply.Intent{{Config: corev1ac.ConfigMap("child", parent.Namespace)}}}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		result, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(parent)})
		if !errors.Is(err, update.ErrFinalizerDropped) || result != (reconcile.Result{}) || !strings.Contains(err.Error(), narrowFinalizer) {
			t.Errorf("%+v, %v; want an error that names the finalizer, for the queue's rate limiter", result, err)
		}
	}
	if n := emitted.Load(); n > 0 {
		t.Errorf("emitted %d times without a finalizer", n)
	}
}
