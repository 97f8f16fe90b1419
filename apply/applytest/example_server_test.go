package applytest_test

import (
	"encoding/json"
	"net/http"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// newExampleT stands for a test's *testing.T, which an example has not.
func newExampleT() *testingT { return &testingT{} }

// exampleConfig is of a server with one deployment, whose replicas hpa owns.
func exampleConfig() *rest.Config {
	cause := metav1.StatusCause{Type: metav1.CauseTypeFieldManagerConflict, Field: ".spec.replicas",
		Message: `conflict with "hpa" with subresource "scale" using apps/v1`}
	conflict := apierrors.NewApplyConflict([]metav1.StatusCause{cause}, "Apply failed with 1 conflict").Status()
	conflict.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	object := web()
	object.TypeMeta = metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}
	object.ResourceVersion = "7"
	return &rest.Config{Host: "http://server", Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		code, answer := http.StatusOK, any(object)
		if r.Method == http.MethodPatch && r.URL.Query().Get("force") != "true" {
			code, answer = http.StatusConflict, conflict
		}
		body, err := json.Marshal(answer)
		if err != nil {
			return nil, err
		}
		response, err := answering(code, strings.NewReader(string(body)))(r)
		response.Header.Set("Content-Type", "application/json")
		return response, err
	})}
}

func newExampleClient(config *rest.Config) client.Client {
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(appsv1.SchemeGroupVersion.WithKind("Deployment"), meta.RESTScopeNamespace)
	c, err := client.New(config, client.Options{Scheme: scheme.Scheme, Mapper: mapper})
	if err != nil {
		panic(err)
	}
	return c
}
