package plugin

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"coapply.dev/apply"
	"coapply.dev/cmd/kubectl-fieldowners/lint"
	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/test/kit"
)

// devboxOf is a Devbox as people write it, with quantities that a Go type spells
// otherwise.
func devboxOf(namespace, name string) *unstructured.Unstructured {
	object := kit.NewUnstructured(v1alpha1.SchemeGroupVersion.String(), "Devbox", client.ObjectKey{Namespace: namespace, Name: name})
	object.Object["spec"] = map[string]any{
		"image":     "registry.example.com/box:1",
		"resources": map[string]any{"requests": map[string]any{"cpu": "1000m", "memory": "1024Mi"}},
	}
	return object
}

// TestAuditFindsWideUpdate: a finalizer was added by a PUT of the typed object. The audit
// names who did it and what was taken; what it advises makes the owner's next apply land.
func TestAuditFindsWideUpdate(t *testing.T) {
	t.Parallel()
	config := kit.Cluster(t).Config()
	c := kit.NewClient(t, config)
	namespace := kit.NewNamespace(t, c)
	helm := kit.NewApplier(t, c, "helm", apply.OnConflict(apply.Reject))
	intent := func(name string) apply.Intent {
		return apply.Intent{Config: client.ApplyConfigurationFromUnstructured(devboxOf(namespace, name))}
	}
	for _, name := range []string{"narrow", "wide"} {
		if _, err := helm.Apply(t.Context(), intent(name)); err != nil {
			t.Fatal(err)
		}
		var box v1alpha1.Devbox
		if err := c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, &box); err != nil {
			t.Fatal(err)
		}
		before := client.MergeFrom(box.DeepCopy())
		controllerutil.AddFinalizer(&box, "example.com/box")
		var err error
		if name == "narrow" {
			err = c.Patch(t.Context(), &box, before, client.FieldOwner("box-operator"))
		} else {
			err = c.Update(t.Context(), &box, client.FieldOwner("box-operator"))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	audit := func() (stdout string, code int) {
		stdout, stderr, code := kit.OutputOf(t, kit.KubectlCommand(t, config, "fieldowners", "audit", "devboxes", "-n", namespace))
		t.Log(stdout, stderr)
		return stdout, code
	}
	found, code := audit()
	if code != 1 || strings.Count(found, "wide-update: box-operator/Update, 1 object") != 1 || strings.Contains(found, "narrow") {
		t.Errorf("exit code %d:\n%s", code, found)
	}
	if _, err := helm.Apply(t.Context(), intent("narrow")); err != nil {
		t.Error(err)
	}
	if _, err := helm.Apply(t.Context(), intent("wide")); !apply.IsOwnershipConflict(err) {
		t.Fatalf("%v: a conflict is what the finding is about", err)
	}

	advice := regexp.MustCompile(`what to do: kubectl (.*)`).FindStringSubmatch(found)
	if advice == nil {
		t.Fatalf("there is no advice:\n%s", found)
	}
	todo := advice[1] + " --yes"
	migrate := kit.KubectlCommand(t, config, strings.Fields(todo)...)
	migrate.Dir = t.TempDir() // for what undoes it
	if stdout, stderr, code := kit.OutputOf(t, migrate); code != 0 {
		t.Fatalf("%s: %d %s%s", todo, code, stdout, stderr)
	}
	if found, code := audit(); code != 0 {
		t.Errorf("after its remedy:\n%s", found)
	}
	if _, err := helm.Apply(t.Context(), intent("wide")); err != nil {
		t.Errorf("after its remedy: %v", err)
	}
	var box v1alpha1.Devbox
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "wide"}, &box); err != nil || len(box.Finalizers) != 1 {
		t.Errorf("the finalizer has to stay: %v, %v", box.Finalizers, err)
	}
}

// TestNoWideUpdate: whoever created an object owns its content with its finalizer, and
// took nothing, whatever others write to it later.
func TestNoWideUpdate(t *testing.T) {
	t.Parallel()
	c := kit.NewClient(t, kit.Cluster(t).Config())
	namespace := kit.NewNamespace(t, c)
	later := func(object client.Object, content map[string]any) client.Object {
		change := kit.NewUnstructured(object.GetObjectKind().GroupVersionKind().GroupVersion().String(),
			object.GetObjectKind().GroupVersionKind().Kind, client.ObjectKeyFromObject(object))
		change.Object["spec"] = content
		err := c.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(change), client.FieldOwner("helm"), client.ForceOwnership)
		if err != nil {
			t.Fatal(err)
		}
		return object
	}
	create := func(object client.Object, apiVersion, kind string) client.Object {
		object.SetNamespace(namespace)
		if err := c.Create(t.Context(), object, client.FieldOwner("creator")); err != nil {
			t.Fatal(err)
		}
		object.GetObjectKind().SetGroupVersionKind(schema.FromAPIVersionAndKind(apiVersion, kind))
		return object
	}
	box := &v1alpha1.Devbox{Spec: v1alpha1.DevboxSpec{Image: "registry.example.com/box:1"}}
	box.Name, box.Finalizers = "box", []string{"example.com/box"}
	create(box, v1alpha1.SchemeGroupVersion.String(), "Devbox")
	claim := func(name string) client.Object { // admission adds its finalizer
		claim := &corev1.PersistentVolumeClaim{Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: new("none"), AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		}}
		claim.Name = name
		return create(claim, "v1", "PersistentVolumeClaim")
	}
	pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
	pod.Name, pod.Finalizers = "pod", []string{"example.com/pod"}
	create(pod, "v1", "Pod")

	bound := claim("bound")
	if err := c.Patch(t.Context(), bound, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"volumeName":"v"}}`)),
		client.FieldOwner("binder")); err != nil {
		t.Fatal(err)
	}
	for what, object := range map[string]client.Object{
		"a custom resource, applied to later": later(box, map[string]any{"image": "registry.example.com/box:1", "state": "Stopped"}),
		"a claim, applied to later":           later(claim("applied"), map[string]any{"resources": map[string]any{"requests": map[string]any{"storage": "1Gi"}}}),
		"a claim, bound later":                bound,
		"a pod, applied to later":             later(pod, map[string]any{"activeDeadlineSeconds": int64(60)}),
	} {
		live := kit.NewUnstructured(object.GetObjectKind().GroupVersionKind().GroupVersion().String(),
			object.GetObjectKind().GroupVersionKind().Kind, client.ObjectKeyFromObject(object))
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(object), live); err != nil {
			t.Fatal(err)
		}
		if len(live.GetFinalizers()) == 0 || len(live.GetManagedFields()) < 2 {
			t.Errorf("%s: it is no case of this test: %v", what, live)
		}
		findings, err := lint.Check(live.GetManagedFields(), lint.Facts{})
		wide := slices.ContainsFunc(findings, func(f lint.Finding) bool { return f.Rule == lint.RuleWideUpdate })
		if err != nil || wide {
			t.Errorf("%s: %v, %v\n%v", what, findings, err, kit.FieldsBy(t, live.GetManagedFields()))
		}
	}
}
