package coapply_test

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"coapply.dev"
	"coapply.dev/apply"
)

type secretBuilder = *coapply.Builder[*corev1.Secret]

// TestOwnerReferences: an owner reference that the garbage collector or Owns cannot use is an
// error of the reconcile, and nothing is sent.
func TestOwnerReferences(t *testing.T) {
	shop := parent("good") // Secret shop/web
	secret := corev1.SchemeGroupVersion.WithKind("Secret")
	owner := coapply.OwnedBy(shop, secret)
	page := func() *corev1ac.ConfigMapApplyConfiguration { return corev1ac.ConfigMap("page", "shop") }
	owns := func(b secretBuilder) secretBuilder { return b.Owns(&corev1.ConfigMap{}) }
	plain := func(b secretBuilder) secretBuilder { return b }
	yes := func(client.Object) bool { return true }
	for _, test := range []struct {
		reason string
		build  func(secretBuilder) secretBuilder
		intent apply.Intent
		want   string // "" for no error
	}{
		{"in the parent's namespace", owns, apply.Intent{Config: page().WithOwnerReferences(owner)}, ""},
		{"across namespaces", plain, apply.Intent{Config: corev1ac.ConfigMap("page", "mall").WithOwnerReferences(owner)},
			`invalid intent for ConfigMap mall/page: the owner reference names the parent Secret shop/web, and the ConfigMap is in the namespace "mall"`},
		{"on an object without a namespace", plain, apply.Intent{Config: corev1ac.Namespace("page").WithOwnerReferences(owner)},
			"invalid intent for Namespace page: the owner reference names the parent Secret shop/web, which is in a namespace, and the Namespace has no namespace"},
		{"of another kind", plain, apply.Intent{Config: page().WithOwnerReferences(coapply.OwnedBy(shop, schema.GroupVersionKind{Version: "v1", Kind: "Secrets"}))},
			`the owner reference with the uid of the parent Secret shop/web has the kind Secrets, name "web" and apiVersion "v1"`},
		{"none, and the kind is owned", owns, apply.Intent{Config: page()},
			"invalid intent for ConfigMap shop/page: the intent has no owner reference to the parent Secret shop/web, and Owns finds"},
		{"no controller, and the kind is owned", owns, apply.Intent{Config: page().WithOwnerReferences(coapply.OwnedBy(shop, secret).WithController(false))},
			"does not set controller: true"},
		{"no controller, and each owner is followed", func(b secretBuilder) secretBuilder { return b.Owns(&corev1.ConfigMap{}, builder.MatchEveryOwner) },
			apply.Intent{Config: page().WithOwnerReferences(coapply.OwnedBy(shop, secret).WithController(false))}, ""},
		{"none, and the kind is not owned", plain, apply.Intent{Config: page()}, ""},
		{"none, and the kind is watched as well", func(b secretBuilder) secretBuilder {
			return owns(b).Watches(&corev1.ConfigMap{}, &handler.EnqueueRequestForObject{})
		}, apply.Intent{Config: page()}, ""},
		{"none, of an object that somebody else makes", owns, apply.Intent{Config: page(), MustExist: true}, ""},
		{"none, and the intent says whose the object is", owns, apply.Intent{Config: page(), Belongs: yes}, ""},
	} {
		rt := newRuntime(t, newWorld(t, shop))
		r, err := test.build(coapply.For(rt, "copier", func(*corev1.Secret) ([]apply.Intent, error) { return []apply.Intent{test.intent}, nil })).Reconciler()
		if err != nil {
			t.Fatal(err)
		}
		_, err = r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(shop)})
		switch {
		case test.want == "" && err != nil, test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
			t.Errorf("%s: %v, want %q", test.reason, err, test.want)
		case test.want != "" && (!errors.Is(err, apply.ErrInvalidIntent) || !errors.Is(err, reconcile.TerminalError(nil))):
			t.Errorf("%s: %v is not an invalid intent that ends the retries", test.reason, err)
		}
	}
}

// TestOwnerReferenceOfClusterScopedParent: a cluster-scoped parent may own objects in every
// namespace.
func TestOwnerReferenceOfClusterScopedParent(t *testing.T) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "1"}}
	rt := newRuntime(t, newWorld(t, node))
	owner := coapply.OwnedBy(node, corev1.SchemeGroupVersion.WithKind("Node"))
	r, err := coapply.For(rt, "copier", func(*corev1.Node) (intents []apply.Intent, err error) {
		for _, config := range []runtime.ApplyConfiguration{
			corev1ac.ConfigMap("page", "shop").WithOwnerReferences(owner), corev1ac.Namespace("page").WithOwnerReferences(owner),
		} {
			intents = append(intents, apply.Intent{Config: config})
		}
		return intents, nil
	}).Reconciler()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(node)}); err != nil {
		t.Error(err)
	}
}
