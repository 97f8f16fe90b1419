package wire

import (
	"errors"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestCheckScope(t *testing.T) {
	deployment, namespace := appsv1.SchemeGroupVersion.WithKind("Deployment"), corev1.SchemeGroupVersion.WithKind("Namespace")
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(deployment, meta.RESTScopeNamespace)
	mapper.Add(namespace, meta.RESTScopeRoot)
	c, err := client.New(&rest.Config{Host: "http://server"}, client.Options{Mapper: mapper})
	if err != nil {
		t.Fatal(err)
	}
	for reason, test := range map[string]struct {
		kind      schema.GroupVersionKind
		namespace string
		want      string // the error
	}{
		"namespaced":                       {deployment, "shop", ""},
		"namespaced, without":              {deployment, "", "a namespace is needed: Deployment is namespaced"},
		"of the cluster":                   {namespace, "", ""},
		"of the cluster, with a namespace": {namespace, "shop", `the object must not have a namespace ("shop"): Namespace is not namespaced`},
		"unknown: the request will tell":   {corev1.SchemeGroupVersion.WithKind("Unknown"), "", ""},
		"unknown, with a namespace":        {corev1.SchemeGroupVersion.WithKind("Unknown"), "shop", ""},
	} {
		got := ""
		err := CheckScope(c, test.kind, types.NamespacedName{Namespace: test.namespace, Name: "web"})
		if err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%s: %v, want %q", reason, err, test.want)
		}
	}
}

func TestCheckReference(t *testing.T) {
	for _, name := range []types.NamespacedName{{Name: "a/b"}, {Namespace: "a/b", Name: "web"}} {
		if err := CheckReference(nil, corev1.SchemeGroupVersion.WithKind("Node"), name); err == nil || !strings.Contains(err.Error(), "cannot be part of a URL") {
			t.Errorf("%v: %v", name, err)
		}
	}
}

func TestOneLine(t *testing.T) {
	for want, err := range map[string]error{"no cause given": nil, "two findings": errors.New("two\n  findings")} {
		if got := OneLine(err); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
