package apply

import (
	"context"
	"errors"
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	autoscalingv1ac "k8s.io/client-go/applyconfigurations/autoscaling/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"coapply.dev/apply"
	"coapply.dev/test/kit"
)

// TestTakeBackOfWhatGaveWay: a field gave way, and then the managed fields are wiped. It is
// ours by the contract, and never has a value that nobody wanted.
func TestTakeBackOfWhatGaveWay(t *testing.T) {
	for _, decision := range []apply.Decision{apply.Relinquish, apply.Share} {
		t.Run(decision.String(), func(t *testing.T) {
			plain := kit.NewClient(t, kit.Server(t))
			namespace := kit.NewNamespace(t, plain)
			var seen []string
			look := func() {
				live := &appsv1.Deployment{}
				if err := plain.Get(context.Background(), client.ObjectKey{Namespace: namespace, Name: "a"}, live); err == nil {
					seen = append(seen, fmt.Sprint(*live.Spec.Replicas))
				}
			}
			watching, err := client.NewWithWatch(kit.RecordedConfig(t), client.Options{Scheme: kit.Scheme})
			if err != nil {
				t.Fatal(err)
			}
			c := interceptor.NewClient(watching, interceptor.Funcs{
				Apply: func(ctx context.Context, c client.WithWatch, o runtime.ApplyConfiguration, options ...client.ApplyOption) error {
					err := c.Apply(ctx, o, options...)
					look()
					return err
				}})
			us, err := apply.New(c, apply.Config{FieldManager: "us", LiveReader: c, Policy: apply.OnConflict(decision), Contract: apply.Contract{
				{Manager: "us", Kind: schema.GroupKind{Group: "apps", Kind: "Deployment"}, Applies: []string{".spec.replicas"}}}})
			if err != nil {
				t.Fatal(err)
			}
			config := kit.Deployment("a", namespace, "v1")
			config.Spec.WithReplicas(3)
			intent := apply.Intent{Config: config, Belongs: kit.BelongsAlways}
			do := func() apply.Outcome {
				outcome, err := us.Apply(t.Context(), intent)
				if err != nil {
					t.Fatal(err)
				}
				return outcome
			}
			do()
			live := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "a"}}
			if err := plain.Patch(t.Context(), live, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"replicas":50}}`)), client.FieldOwner("hpa")); err != nil {
				t.Fatal(err)
			}
			t.Log(do().Conflicts)
			t.Log(do().Conflicts)
			wipeFields(t, plain, live)
			seen = nil
			outcome := do()
			t.Logf("after the wipe replicas went 50 -> %v; taken back %v, requests %d, conflicts %v", seen, outcome.TakenBack, outcome.Requests, outcome.Conflicts)
			for _, s := range seen {
				if s != "50" && s != "3" {
					t.Errorf("replicas became %s, which nobody wanted", s)
				}
			}
		})
	}
}

// TestTakeBackBesideAForgedEntry: where nothing can be taken back, what does not conflict is
// applied all the same.
func TestTakeBackBesideAForgedEntry(t *testing.T) {
	c := kit.NewClient(t, kit.Server(t))
	namespace := kit.NewNamespace(t, c)
	us, err := apply.New(c, apply.Config{FieldManager: "us", LiveReader: c, Contract: apply.Contract{
		{Manager: "us", Kind: schema.GroupKind{Group: "apps", Kind: "Deployment"}, Applies: []string{".spec.replicas"}}}})
	if err != nil {
		t.Fatal(err)
	}
	config := kit.Deployment("a", namespace, "v1")
	config.Spec.WithReplicas(3)
	intent := apply.Intent{Config: config, Belongs: kit.BelongsAlways}
	if _, err := us.Apply(t.Context(), intent); err != nil {
		t.Fatal(err)
	}
	live := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "a"}}
	wipeFields(t, c, live)
	if err := c.Apply(t.Context(), kit.Replicas("a", namespace, 3), client.FieldOwner("them")); err != nil {
		t.Fatal(err)
	}
	kit.ForgeDeepEntry(t, c, kit.DeploymentRef(namespace, "a"))
	outcome, err := us.Apply(t.Context(), intent) // nothing is even wanted otherwise
	if err != nil {
		t.Errorf("%v", err)
	}
	t.Logf("%+v", outcome.TakenBack)
}

// TestTakeBackOfScale: the first apply after the wipe is one of /scale, and so are the
// fields of the owner whom the server makes up.
func TestTakeBackOfScale(t *testing.T) {
	c := kit.NewClient(t, kit.Server(t))
	namespace := kit.NewNamespace(t, c)
	us, err := apply.New(c, apply.Config{FieldManager: "us", LiveReader: c, Contract: apply.Contract{
		{Manager: "us", Kind: schema.GroupKind{Group: "apps", Kind: "Deployment"}, Applies: []string{".spec.replicas"}}}})
	if err != nil {
		t.Fatal(err)
	}
	config := kit.Deployment("a", namespace, "v1")
	config.Spec.WithReplicas(3)
	intent := apply.Intent{Config: config, Belongs: kit.BelongsAlways}
	if _, err := us.Apply(t.Context(), intent); err != nil {
		t.Fatal(err)
	}
	live := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "a"}}
	wipeFields(t, c, live)
	scaler := kit.NewApplier(t, c, "scaler", apply.Policy{})
	named := appsv1ac.Deployment("a", namespace)
	scale := autoscalingv1ac.Scale().WithName("a").WithNamespace(namespace).WithSpec(autoscalingv1ac.ScaleSpec().WithReplicas(3))
	if _, err := scaler.Apply(t.Context(), apply.Intent{Config: named, Subresource: "scale", Body: scale}); err != nil {
		t.Fatal(err)
	}
	if _, err := scaler.Release(t.Context(), kit.DeploymentRef(namespace, "a")); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(kit.OwnersOf(t, c, namespace, "a", ".spec.replicas")); got != "[before-first-apply/Update[scale]]" {
		t.Fatalf("replicas are owned by %s", got)
	}
	config.Spec.WithReplicas(4)
	outcome, err := us.Apply(t.Context(), intent)
	if err != nil || fmt.Sprint(outcome.TakenBack) != "[.spec.replicas]" {
		t.Errorf("taken back: %v, %v", outcome.TakenBack, err)
	}
	if got := fmt.Sprint(kit.OwnersOf(t, c, namespace, "a", ".spec.replicas")); got != "[us/Apply]" {
		t.Errorf("replicas are owned by %s", got)
	}
}

// TestTakeBackForbidden: so it is where a policy forbids to write managed fields.
func TestTakeBackForbidden(t *testing.T) {
	watching, err := client.NewWithWatch(kit.RecordedConfig(t), client.Options{Scheme: kit.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	c := interceptor.NewClient(watching, interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, options ...client.PatchOption) error {
			if p.Type() == "application/json-patch+json" {
				return apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, o.GetName(), errors.New("a policy: managedFields are not to be written"))
			}
			return c.Patch(ctx, o, p, options...)
		}})
	namespace := kit.NewNamespace(t, c)
	for _, contract := range []apply.Contract{nil, {{Manager: "us", Kind: schema.GroupKind{Kind: "ConfigMap"}, Applies: []string{".data"}}}} {
		us, err := apply.New(c, apply.Config{FieldManager: "us", LiveReader: c, Contract: contract})
		if err != nil {
			t.Fatal(err)
		}
		name := fmt.Sprint("a", len(contract))
		intent := apply.Intent{Config: corev1ac.ConfigMap(name, namespace).WithData(map[string]string{"a": "b"}), Belongs: kit.BelongsAlways}
		if _, err := us.Apply(t.Context(), intent); err != nil {
			t.Fatal(err)
		}
		wipeFields(t, c, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}})
		_, err = us.Apply(t.Context(), intent)
		t.Logf("contract %v: %v", contract, err)
		intent.Config = corev1ac.ConfigMap(name, namespace).WithData(map[string]string{"a": "b", "new": "c"})
		if _, err = us.Apply(t.Context(), intent); err != nil {
			t.Errorf("contract %v, a new key: %v", contract, err)
		}
	}
}

// wipeFields has an object lose its managed fields.
func wipeFields(t *testing.T, c client.Client, object client.Object) {
	t.Helper()
	if err := c.Patch(t.Context(), object, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"managedFields":[{}]}}`))); err != nil {
		t.Fatal(err)
	}
	if len(object.GetManagedFields()) > 0 {
		t.Fatal("not wiped")
	}
}
