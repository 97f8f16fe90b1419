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
	"k8s.io/apimachinery/pkg/types"
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

// exampleParent is a parent whose set had deployments in it before.
func exampleParent() *corev1.ConfigMap {
	parent := &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "parent", UID: "uid-0", ResourceVersion: "1"},
	}
	parent.Labels = map[string]string{"applyset.kubernetes.io/id": exampleSet}
	parent.Annotations = map[string]string{
		"applyset.kubernetes.io/tooling":              "example-workload/v1",
		"applyset.kubernetes.io/contains-group-kinds": "Deployment.apps",
	}
	return parent
}

var exampleSet = apply.ApplySetID(apply.ObjectRef{
	GroupVersionKind: corev1.SchemeGroupVersion.WithKind("ConfigMap"),
	NamespacedName:   types.NamespacedName{Namespace: "shop", Name: "parent"},
})

// exampleMembers lists deployments with the label of the set: one that the applier
// emits, one that it emitted before, and one that a person made from a copy.
func exampleMembers() *metav1.PartialObjectMetadataList {
	list := &metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadataList"}}
	label := `{"f:metadata":{"f:labels":{"f:applyset.kubernetes.io/part-of":{}}}}`
	ours, theirs := entry("example-workload", "Apply", "", label), entry("kubectl-create", "Update", "", label)
	for name, owner := range map[string]metav1.ManagedFieldsEntry{"web": ours, "web-canary": ours, "web-copy": theirs} {
		list.Items = append(list.Items, metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: name, UID: types.UID("uid-of-" + name),
			Labels:        map[string]string{apply.PartOfLabel: exampleSet},
			ManagedFields: []metav1.ManagedFieldsEntry{owner},
		}})
	}
	return list
}
