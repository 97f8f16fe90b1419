package applyset_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/applyset"
)

// emittedAgain is an API server with the parent web and the member b, of which another
// manager owns a key for as long as it stands.
type emittedAgain struct {
	stands bool
	sent   []string // of the applies of b
}

func (s *emittedAgain) RoundTrip(request *http.Request) (*http.Response, error) {
	listed := member("b")
	b := &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: listed.ObjectMeta,
		Data: map[string]string{"k": "theirs", "l": "ours"}}
	b.ManagedFields = []metav1.ManagedFieldsEntry{
		entry("other", "Apply", "", `{"f:data":{"f:k":{}}}`),
		entry(manager, "Apply", "", `{"f:data":{"f:l":{}},"f:metadata":{"f:labels":{"f:`+applyset.PartOfLabel+`":{}}}}`),
	}
	switch path := strings.TrimPrefix(request.URL.Path, "/api/v1/namespaces/shop/"); {
	case path == "configmaps/web":
		return ok(setParent("ConfigMap"))(request)
	case path == "configmaps" && s.stands:
		return page("", listed)(request)
	case path == "configmaps":
		return page("")(request)
	case request.Method == http.MethodDelete:
		s.stands = false
		return deleted(http.StatusOK)(request)
	case request.Method == http.MethodGet && s.stands:
		return ok(b)(request)
	case request.Method == http.MethodGet:
		return fail(apierrors.NewNotFound(configMaps, "b"))(request)
	}
	raw, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, err
	}
	request.Body = io.NopCloser(bytes.NewReader(raw))
	s.sent = append(s.sent, string(raw))
	switch {
	case len(s.sent) == 1:
		s.stands = true
		return conflict(cause(".data.k", `"other"`))(request)
	case !s.stands:
		s.stands = true
		return created(b)(request)
	}
	return ok(b)(request)
}

// TestDeletedMembersAreEmittedWhole: an intent that gave way in a field leaves it out the next
// time, but not of the object that is made anew after a prune.
func TestDeletedMembersAreEmittedWhole(t *testing.T) {
	server := &emittedAgain{}
	c := newSetScript(t).client(server)
	applier, err := apply.New(c, apply.Config{FieldManager: manager, LiveReader: c, Policy: apply.OnConflict(apply.Relinquish)})
	if err != nil {
		t.Fatal(err)
	}
	sets, err := applyset.New(applier)
	if err != nil {
		t.Fatal(err)
	}
	wanted := apply.Intent{Config: client.ApplyConfigurationFromUnstructured(&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "b", "namespace": "shop"},
		"data": map[string]any{"k": "ours", "l": "ours"},
	}})}
	for _, emitted := range []func() ([]apply.Intent, error){emits(wanted), emits(), emits(wanted)} {
		round := sets.Apply(t.Context(), setParent("ConfigMap"), emitted)
		if err := errors.Join(round.Errs...); err != nil {
			t.Fatal(err)
		}
		if _, err := round.Prune(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if len(server.sent) != 3 || strings.Contains(server.sent[1], `"k"`) || !strings.Contains(server.sent[2], `"k"`) {
		t.Errorf("sent were %s", server.sent)
	}
}
