package apply

import (
	"context"
	"errors"
	"net/http"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// TestCheckNotFoundReads: only a 404 that names the object shows that the object is absent. For a
// version that the API server does not serve, client-go makes up a 404 for each request.
func TestCheckNotFoundReads(t *testing.T) {
	deployments := schema.GroupResource{Group: "apps", Resource: "deployments"}
	notServed := apierrors.NewGenericServerResponse(http.StatusNotFound, "get", deployments, "web", "404 page not found", 0, true)
	object := ObjectRef{GroupVersionKind: appsv1.SchemeGroupVersion.WithKind("Deployment"), NamespacedName: client.ObjectKey{Namespace: "shop", Name: "web"}}
	for _, test := range []struct {
		reason string
		read   error
		absent bool
	}{
		{"the object is absent", apierrors.NewNotFound(deployments, "web"), true},
		{"the version is not served", notServed, false},
	} {
		live := fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
			Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
				return test.read
			},
		}).Build()
		err := CheckNotFound(t.Context(), live, object, "", notServed)
		if apierrors.IsNotFound(err) != test.absent || errors.Is(err, ErrRefused) == test.absent {
			t.Errorf("%s: %v", test.reason, err)
		}
	}
}
