package apply

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply/update"
	"coapply.dev/test/kit"
)

// newerPods stands for an API server whose pods have a field that our Go types lack, and
// cannot change: it is in what is read, and a write without it is refused, as it is for
// each field of a pod's spec that is as it was.
func newerPods(next http.RoundTripper) http.RoundTripper {
	return kit.RoundTripper(func(request *http.Request) (*http.Response, error) {
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
				return kit.Refusing(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid)()
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
	direct := kit.NewClient(t, kit.Server(t))
	config := rest.CopyConfig(kit.Server(t))
	config.Wrap(newerPods)
	c := kit.NewClient(t, config)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: kit.NewNamespace(t, direct), Name: "a", Finalizers: []string{kit.NarrowFinalizer}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "registry.example.com/a:1"}}},
	}
	if err := direct.Create(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	if err := direct.Delete(t.Context(), pod, client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}
	updater, err := update.New(update.Config{Client: c, LiveReader: c, FieldManager: kit.OurManager})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := update.RemoveFinalizer(t.Context(), updater, pod, kit.NarrowFinalizer); err != nil {
		t.Fatal(err)
	}
	if err := direct.Get(t.Context(), client.ObjectKeyFromObject(pod), pod); !apierrors.IsNotFound(err) {
		t.Errorf("the pod is still there: %v", err)
	}
}
