package reconciler_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
)

// TestWhoseChildren: what a parent emits is its own from birth, whoever made what has the
// name; unless Config.Belongs knows better.
func TestWhoseChildren(t *testing.T) {
	owner := func(uid types.UID) []metav1.OwnerReference {
		return []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: "web", UID: uid}}
	}
	entry := func(manager string, operation metav1.ManagedFieldsOperationType, subresource string) []metav1.ManagedFieldsEntry {
		return []metav1.ManagedFieldsEntry{{
			Manager: manager, Operation: operation, Subresource: subresource, APIVersion: "v1", FieldsType: "FieldsV1",
			FieldsV1: metav1.NewFieldsV1(`{"f:data":{"f:x":{}}}`),
		}}
	}
	for name, test := range map[string]struct {
		object  metav1.ObjectMeta
		belongs func(parentType, client.Object) bool
		owner   bool // the intent sets an owner reference
		prune   bool
		want    bool
	}{
		"nobody's, applied by us, and to be owned": {object: metav1.ObjectMeta{ManagedFields: entry("test", "Apply", "")}, owner: true},
		"nobody's, applied by us, and in no set":   {object: metav1.ObjectMeta{ManagedFields: entry("test", "Apply", "")}, prune: true, want: true},
		"nobody's, applied by us, edited by another, and in no set": {object: metav1.ObjectMeta{
			ManagedFields: append(entry("test", "Apply", ""), entry("other", "Update", "")...)}, prune: true},
		"nobody's, applied by us, and its status by another": {object: metav1.ObjectMeta{
			ManagedFields: append(entry("test", "Apply", ""), entry("other", "Update", "status")...)}, prune: true, want: true},
		"nobody's, updated by our name, and in no set": {object: metav1.ObjectMeta{ManagedFields: entry("test", "Update", "")}, prune: true},
		"the parent's":                       {object: metav1.ObjectMeta{OwnerReferences: owner("uid-1")}, want: true},
		"of an earlier parent of the name":   {object: metav1.ObjectMeta{OwnerReferences: owner("uid-0")}},
		"nobody's":                           {},
		"nobody's, and applied by us":        {object: metav1.ObjectMeta{ManagedFields: entry("test", "Apply", "")}, want: true},
		"nobody's, and updated by our name":  {object: metav1.ObjectMeta{ManagedFields: entry("test", "Update", "")}},
		"nobody's, and its status is ours":   {object: metav1.ObjectMeta{ManagedFields: entry("test", "Apply", "status")}},
		"nobody's, and applied by another":   {object: metav1.ObjectMeta{ManagedFields: entry("other", "Apply", "")}},
		"somebody's, and applied by us, too": {object: metav1.ObjectMeta{OwnerReferences: owner("uid-9"), ManagedFields: entry("test", "Apply", "")}},
		"nobody's, and the caller's to say":  {belongs: func(p parentType, o client.Object) bool { return p.Name == "web" && o.GetName() == "a" }, want: true},
		"the parent's, and the caller's to say": {
			object: metav1.ObjectMeta{OwnerReferences: owner("uid-1")}, belongs: func(parentType, client.Object) bool { return false }},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, withFinalizer())
			test.object.Namespace, test.object.Name, test.object.UID = "shop", "a", "uid-a"
			w.must(w.store.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: test.object}, client.FieldOwner("any")))
			w.config.Belongs, w.config.Prune = test.belongs, test.prune
			w.config.Status = nil
			w.config.Emit = func(parentType) ([]apply.Intent, error) {
				if !test.owner {
					return emission("a"), nil
				}
				config := corev1ac.ConfigMap("a", "shop").WithOwnerReferences(
					metav1ac.OwnerReference().WithAPIVersion("apps/v1").WithKind("Deployment").WithName("web").WithUID("uid-1"))
				return []apply.Intent{{Config: config}}, nil
			}
			result, err := w.reconcile(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if sent := slices.Contains(w.happened, "apply a"); sent != test.want || (result.RequeueAfter == 0) != test.want {
				t.Errorf("applied: %v, %v; want %v", sent, result, test.want)
			}
		})
	}
}
