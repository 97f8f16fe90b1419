package applyset_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/applyset"
	"coapply.dev/test/kit/answers"
)

// What a parent emitted before and emits no longer is deleted, if the applier put it
// there.
func ExampleRound_Prune() {
	parent := exampleParent() // as the cache has it
	deleted := metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusSuccess}
	sets, err := applyset.New(exampleApplier(
		ok(parent), ok(answers.Web("uid-of-web", "7")), ok(answers.Web("uid-of-web", "8")), // to apply
		ok(exampleMembers()), ok(exampleParent()), ok(&deleted), // to prune
	))
	if err != nil {
		panic(err)
	}

	round := sets.Apply(context.Background(), parent, func() ([]apply.Intent, error) {
		deployment := appsv1ac.Deployment("web", "shop").WithSpec(appsv1ac.DeploymentSpec().WithReplicas(3))
		return []apply.Intent{{Config: deployment}}, nil
	})
	fmt.Println(round.Errs) // else nothing is pruned

	pruned, err := round.Prune(context.Background())
	fmt.Println("deleted", pruned.Deleted, err)
	for _, kept := range pruned.Kept {
		fmt.Println(kept)
	}
	// Output:
	// []
	// deleted [Deployment shop/web-canary] <nil>
	// Deployment shop/web-copy is no longer desired, but was kept: the field manager example-workload does not own the object's label applyset.kubernetes.io/part-of
}

// roundTripper is a cluster made of a function.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// exampleApplier is made by apply.New(mgr.GetClient(), apply.Config{...}), and stands on a
// cluster that answers so, one request after the other.
func exampleApplier(all ...answer) *apply.Applier {
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{appsv1.SchemeGroupVersion})
	mapper.Add(corev1.SchemeGroupVersion.WithKind("ConfigMap"), meta.RESTScopeNamespace)
	mapper.Add(appsv1.SchemeGroupVersion.WithKind("Deployment"), meta.RESTScopeNamespace)
	sent := 0
	server := roundTripper(func(r *http.Request) (*http.Response, error) {
		if sent++; sent > len(all) {
			return nil, errors.New("the example has no more answers: " + r.Method + " " + r.URL.String())
		}
		return all[sent-1](r)
	})
	c, err := client.New(&rest.Config{Host: "http://server", Transport: server}, client.Options{Mapper: mapper})
	if err != nil {
		panic(err)
	}
	applier, err := apply.New(c, apply.Config{
		FieldManager: "example-workload",
		LiveReader:   c, // mgr.GetAPIReader()
	})
	if err != nil {
		panic(err)
	}
	return applier
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

var exampleSet = applyset.ID(apply.ObjectRef{
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
			Labels:        map[string]string{applyset.PartOfLabel: exampleSet},
			ManagedFields: []metav1.ManagedFieldsEntry{owner},
		}})
	}
	return list
}
