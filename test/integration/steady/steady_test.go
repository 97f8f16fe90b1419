package steady

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/test/kit"
)

// TestSteadyCheck: nothing is sent for an intent that would change nothing, whatever
// others write beside it, and after a restart; and everything else is.
func TestSteadyCheck(t *testing.T) {
	t.Parallel()
	config := kit.Cluster(t).Config()
	c := kit.NewClient(t, config)
	name := client.ObjectKey{Namespace: kit.NewNamespace(t, c), Name: "shop"}
	intent := apply.Intent{Config: kit.Shop(name.Name, name.Namespace)}
	read := func() client.Object {
		var live appsv1.Deployment
		if err := c.Get(t.Context(), name, &live); err != nil {
			t.Fatal(err)
		}
		return &live
	}
	start := func() *apply.Applier {
		applier, err := apply.New(c, apply.Config{FieldManager: "shop", LiveReader: c, Steady: kit.NewSteadyState(t, config, c),
			Policy: apply.OnConflict(apply.Force)})
		if err != nil {
			t.Fatal(err)
		}
		return applier
	}
	applier := start()
	wantRequests := func(when string, want bool) {
		t.Helper()
		intent.Read = read()
		outcome, err := applier.Apply(t.Context(), intent)
		if err != nil || (outcome.Requests > 0) != want || !want && outcome.Action != apply.Unchanged {
			t.Errorf("%s: %+v, %v, want requests: %v", when, outcome, err, want)
		}
		if uid := intent.Read.GetUID(); outcome.Object.UID != uid || outcome.Object.Kind != "Deployment" {
			t.Errorf("%s: it is about %+v", when, outcome.Object)
		}
	}
	meddle := func(patch string) {
		t.Helper()
		err := c.Patch(t.Context(), read(), client.RawPatch("application/merge-patch+json", []byte(patch)), client.FieldOwner("someone"))
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := applier.Apply(t.Context(), intent); err != nil {
		t.Fatal(err)
	}
	wantRequests("once applied", false)
	wantRequests("again", false)
	for i := range 3 {
		meddle(fmt.Sprintf(`{"metadata":{"annotations":{"count":"%d"}},"spec":{"paused":true}}`, i))
		wantRequests("someone wrote beside it", false)
	}
	applier = start()
	wantRequests("after a restart", false)
	meddle(`{"spec":{"replicas":7}}`)
	wantRequests("someone took a field", true)
	wantRequests("taken back", false)
	meddle(`{"spec":{"template":{"spec":{"containers":[{"name":"web","image":"registry.example.com/other"}]}}}}`)
	wantRequests("someone took the containers", true)
	intent.Config = kit.Shop(name.Name, name.Namespace).WithAnnotations(map[string]string{"new": "field"})
	wantRequests("another field", true)
	wantRequests("is there", false)
	intent.Config = kit.Shop(name.Name, name.Namespace)
	wantRequests("a field less", true)
	wantRequests("is gone", false)
}

// TestSteadyCheckForms: 1000m is what the server stores as 1, unless somebody else says 1.
func TestSteadyCheckForms(t *testing.T) {
	t.Parallel()
	config := kit.Cluster(t).Config()
	c := kit.NewClient(t, config)
	name := client.ObjectKey{Namespace: kit.NewNamespace(t, c), Name: "shop"}
	raw := newConfig(t, kit.Shop(name.Name, name.Namespace), func(content string) string {
		return strings.NewReplacer(`"cpu":"1"`, `"cpu":"1000m"`, `"memory":"1Gi"`, `"memory":"1024Mi"`).Replace(content)
	})
	applier, err := apply.New(c, apply.Config{FieldManager: "shop", LiveReader: c, Steady: kit.NewSteadyState(t, config, c)})
	if err != nil {
		t.Fatal(err)
	}
	intent := apply.Intent{Config: client.ApplyConfigurationFromUnstructured(raw)}
	if _, err := applier.Apply(t.Context(), intent); err != nil {
		t.Fatal(err)
	}
	for _, form := range []client.Object{&appsv1.Deployment{}, kit.NewUnstructured("apps/v1", "Deployment", name)} {
		if err := c.Get(t.Context(), name, form); err != nil {
			t.Fatal(err)
		}
		intent.Read = form
		if outcome, err := applier.Apply(t.Context(), intent); err != nil || outcome.Requests != 0 {
			t.Errorf("as the server stored it, read as %T: %+v, %v", form, outcome, err)
		}
	}
	other := appsv1ac.Deployment(name.Name, name.Namespace).WithSpec(appsv1ac.DeploymentSpec().WithTemplate(
		corev1ac.PodTemplateSpec().WithSpec(corev1ac.PodSpec().WithContainers(corev1ac.Container().WithName("web").WithResources(
			corev1ac.ResourceRequirements().WithRequests(corev1.ResourceList{"cpu": resource.MustParse("1")}))))))
	if _, err := kit.NewApplier(t, c, "other", apply.OnConflict(apply.Reject)).Apply(t.Context(), apply.Intent{Config: other}); err != nil {
		t.Fatal(err)
	}
	var live appsv1.Deployment
	if err := c.Get(t.Context(), name, &live); err != nil {
		t.Fatal(err)
	}
	intent.Read = &live
	if outcome, err := applier.Apply(t.Context(), intent); !apply.IsOwnershipConflict(err) {
		t.Errorf("someone else says 1: %+v, %v", outcome, err)
	}
}

func newConfig(t testing.TB, config any, change func(string) string) *unstructured.Unstructured {
	t.Helper()
	content, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	changed := change(string(content))
	if changed == string(content) {
		t.Fatal("nothing was changed")
	}
	raw := &unstructured.Unstructured{}
	if err := raw.UnmarshalJSON([]byte(changed)); err != nil {
		t.Fatal(err)
	}
	return raw
}
