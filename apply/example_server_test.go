package apply_test

import (
	"errors"
	"net/http"
	"sync/atomic"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
)

// exampleServer stands for a manager's client, whose rest.Config was wrapped with
// apply.RecordExchange, and for a cluster that answers so, one request after the
// other.
func exampleServer(answers []answer) client.Client {
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{appsv1.SchemeGroupVersion})
	mapper.Add(appsv1.SchemeGroupVersion.WithKind("Deployment"), meta.RESTScopeNamespace)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("ConfigMap"), meta.RESTScopeNamespace)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Service"), meta.RESTScopeNamespace)
	var sent atomic.Int32
	config := &rest.Config{Host: "http://server", Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		n := int(sent.Add(1))
		if n > len(answers) {
			return nil, errors.New("the example has no more answers: " + r.Method + " " + r.URL.String())
		}
		return answers[n-1](r)
	})}
	config.Wrap(apply.RecordExchange)
	c, err := client.New(config, client.Options{Scheme: scheme.Scheme, Mapper: mapper})
	if err != nil {
		panic(err)
	}
	return c
}

// exampleApplier is made by apply.New(mgr.GetClient(), apply.Config{...}).
func exampleApplier(policy apply.Policy, answers []answer) *apply.Applier {
	c := exampleServer(answers)
	applier, err := apply.New(c, apply.Config{
		FieldManager: "example-workload",
		LiveReader:   c, // mgr.GetAPIReader()
		Policy:       policy,
	})
	if err != nil {
		panic(err)
	}
	return applier
}

// exampleObject is the deployment at a resourceVersion with these owners.
func exampleObject(resourceVersion string, replicas int32, owners ...metav1.ManagedFieldsEntry) *appsv1.Deployment {
	object := web("uid-1", resourceVersion)
	object.Spec.Paused, object.Spec.Replicas = false, &replicas
	object.ManagedFields = owners
	return object
}
