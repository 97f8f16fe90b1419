package kit

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/examples/website"
	"coapply.dev/platform/api/v1alpha1"
)

// Scheme has the built-in kinds, CustomResourceDefinition, the platform's kinds, and the kinds of the examples.
var Scheme = func() *runtime.Scheme {
	s := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(s), apiextensionsv1.AddToScheme(s), v1alpha1.AddToScheme(s), website.AddToScheme(s)); err != nil {
		panic(err)
	}
	return s
}()

// NewClient returns a client without a cache. It records its exchanges, so that an Applier can use the client.
func NewClient(t testing.TB, config *rest.Config) client.Client {
	t.Helper()
	c, err := newClient(config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func newClient(config *rest.Config) (client.Client, error) {
	config = rest.CopyConfig(config)
	config.Wrap(apply.RecordExchange)
	return client.New(config, client.Options{Scheme: Scheme})
}

// NewNamespace creates a namespace for one test, and returns its name. The namespace is not deleted, because the
// control plane is deleted as a whole.
func NewNamespace(t testing.TB, c client.Client) string {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	if err := c.Create(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	return namespace.Name
}

// ApplyTo applies an object, or a subresource of it, and reads the response into the object.
func ApplyTo(ctx context.Context, c client.Client, object *unstructured.Unstructured, subresource string, options client.ApplyOptions) error {
	config := client.ApplyConfigurationFromUnstructured(object)
	if subresource == "" {
		return c.Apply(ctx, config, &options)
	}
	return c.SubResource(subresource).Apply(ctx, config, &client.SubResourceApplyOptions{ApplyOptions: options})
}

// NewApplier returns an Applier that uses the given client for writes and for live reads.
func NewApplier(t testing.TB, c client.Client, manager string, policy apply.Policy) *apply.Applier {
	t.Helper()
	applier, err := apply.New(c, apply.Config{FieldManager: manager, Policy: policy, LiveReader: c})
	if err != nil {
		t.Fatal(err)
	}
	return applier
}
