package apply

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/test/kit"
)

func TestApplyOutcomes(t *testing.T) {
	c := kit.NewClient(t, kit.Server(t))
	namespace := kit.NewNamespace(t, c)
	owner := kit.NewApplier(t, c, "owner", apply.Policy{})
	scaler := kit.NewApplier(t, c, "scaler", apply.Policy{})

	for _, step := range []struct {
		reason  string
		applier *apply.Applier
		intent  apply.Intent
		want    apply.Action
	}{
		{"the object is new", owner, apply.Intent{Config: kit.Deployment("a", namespace, "v1")}, apply.Created},
		{"the same again", owner, apply.Intent{Config: kit.Deployment("a", namespace, "v1")}, apply.Unchanged},
		{"another value", owner, apply.Intent{Config: kit.Deployment("a", namespace, "v2")}, apply.Configured},
		{"another manager's field that nobody owned", scaler, apply.Intent{Config: kit.Replicas("a", namespace, 3), MustExist: true}, apply.Configured},
		{"the same again, after another manager wrote", owner, apply.Intent{Config: kit.Deployment("a", namespace, "v2")}, apply.Configured},
		{"the same again", owner, apply.Intent{Config: kit.Deployment("a", namespace, "v2")}, apply.Unchanged},
		{"there is no such object to share", scaler, apply.Intent{Config: kit.Replicas("none", namespace, 3), MustExist: true}, apply.Absent},
	} {
		outcome, err := step.applier.Apply(t.Context(), step.intent)
		if err != nil {
			t.Fatalf("%s: %v", step.reason, err)
		}
		if outcome.Action != step.want {
			t.Errorf("%s: %s, want %s", step.reason, outcome.Action, step.want)
		}
		want := apply.Outcome{Attempts: 1, Requests: 1}
		if step.intent.MustExist {
			want.Requests++ // this client has no cache to read the uid from
		}
		if step.want == apply.Absent {
			want = apply.Outcome{Requests: 1}
		}
		if outcome.Attempts != want.Attempts || outcome.Requests != want.Requests {
			t.Errorf("%s: %d attempts with %d requests, want %d with %d", step.reason,
				outcome.Attempts, outcome.Requests, want.Attempts, want.Requests)
		}
	}
}

func TestConflictIsNamed(t *testing.T) {
	c := kit.NewClient(t, kit.Server(t))
	namespace := kit.NewNamespace(t, c)
	owner := kit.NewApplier(t, c, "owner", apply.Policy{})
	if _, err := owner.Apply(t.Context(), apply.Intent{Config: kit.Deployment("a", namespace, "v1").
		WithAnnotations(map[string]string{"example.com/a.b": "one"})}); err != nil {
		t.Fatal(err)
	}
	// Somebody has to own the replicas first: a write to /scale records an owner
	// only where there was one.
	if _, err := kit.NewApplier(t, c, "first", apply.Policy{}).Apply(t.Context(), apply.Intent{Config: kit.Replicas("a", namespace, 2), MustExist: true}); err != nil {
		t.Fatal(err)
	}
	var live appsv1.Deployment
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "a"}, &live); err != nil {
		t.Fatal(err)
	}
	scale := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":4}}`))
	if err := c.SubResource("scale").Patch(t.Context(), &live, scale, client.FieldOwner("kubectl"),
		client.WithSubResourceBody(&autoscalingv1.Scale{})); err != nil {
		t.Fatal(err)
	}

	wants := kit.NewApplier(t, c, "wants", apply.Policy{})
	intent := kit.Deployment("a", namespace, "v2").WithAnnotations(map[string]string{"example.com/a.b": "two"})
	intent.Spec.WithReplicas(1)
	outcome, err := wants.Apply(t.Context(), apply.Intent{Config: intent})
	var conflict *apply.ConflictError
	if !errors.As(err, &conflict) || !errors.Is(err, apply.ErrConflict) {
		t.Fatalf("got %v, want a ConflictError", err)
	}
	type row struct{ Manager, Path, ServerPath, Ours, Theirs string }
	var got []row
	for _, k := range conflict.Conflicts {
		got = append(got, row{k.Manager.String(), k.Path.String(), k.ServerPath, text(k.Ours), text(k.Theirs)})
	}
	want := []row{
		{"owner/Apply", `.metadata.annotations["example.com/a.b"]`, ".metadata.annotations.example.com/a.b", "two", "one"},
		{"kubectl/Update[scale]", ".spec.replicas", ".spec.replicas", "1", "4"},
		{"owner/Apply", `.spec.template.spec.containers[name="web"].image`, `.spec.template.spec.containers[name="web"].image`, "v2", "v1"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("conflicts (-want +got):\n%s", diff)
	}
	if outcome.Requests != 2 || outcome.Attempts != 1 {
		t.Errorf("%d requests and %d attempts; want the apply and the read that names the owners", outcome.Requests, outcome.Attempts)
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("the message has several lines:\n%v", err)
	}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "a"}, &live); err != nil {
		t.Fatal(err)
	}
	if image := live.Spec.Template.Spec.Containers[0].Image; image != "v1" {
		t.Errorf("image is %s: something of a rejected intent landed", image)
	}
}

func text(v any) string { return fmt.Sprint(v) }

func TestForceTakesOnlyWhatThePolicySays(t *testing.T) {
	c := kit.NewClient(t, kit.Server(t))
	namespace := kit.NewNamespace(t, c)
	owner := kit.NewApplier(t, c, "owner", apply.Policy{})
	base := kit.Deployment("a", namespace, "v1")
	base.Spec.WithReplicas(5)
	if _, err := owner.Apply(t.Context(), apply.Intent{Config: base}); err != nil {
		t.Fatal(err)
	}
	power := kit.NewApplier(t, c, "power", apply.OnConflict(apply.Reject).At(".spec.replicas", apply.Force))
	outcome, err := power.Apply(t.Context(), apply.Intent{Config: kit.Replicas("a", namespace, 1), MustExist: true})
	if err != nil {
		t.Fatal(err)
	}
	if outcome.Action != apply.Configured || outcome.Attempts != 3 || len(outcome.Conflicts) != 1 || outcome.Conflicts[0].Decision != apply.Force {
		t.Errorf("outcome %+v; want one forced conflict after three applies", outcome)
	}
	if owners := kit.OwnersOf(t, c, namespace, "a", ".spec.replicas"); !cmp.Equal(owners, []string{"power/Apply"}) {
		t.Errorf("replicas are owned by %v", owners)
	}

	both := kit.Deployment("a", namespace, "v2")
	both.Spec.WithReplicas(5)
	greedy := kit.NewApplier(t, c, "greedy", apply.OnConflict(apply.Reject).At(".spec.replicas", apply.Force))
	if _, err := greedy.Apply(t.Context(), apply.Intent{Config: both}); !errors.Is(err, apply.ErrConflict) {
		t.Errorf("got %v; a rejected field holds back the forced one too", err)
	}
	if owners := kit.OwnersOf(t, c, namespace, "a", ".spec.replicas"); !cmp.Equal(owners, []string{"power/Apply"}) {
		t.Errorf("replicas are owned by %v after a rejected intent", owners)
	}
}

func TestDeletedObjectIsNotBroughtBack(t *testing.T) {
	c := kit.NewClient(t, kit.Server(t))
	namespace := kit.NewNamespace(t, c)
	applier := kit.NewApplier(t, c, "owner", apply.OnConflict(apply.Force))
	config := func() *corev1ac.ConfigMapApplyConfiguration {
		return corev1ac.ConfigMap("a", namespace).WithData(map[string]string{"k": "v"})
	}
	created, err := applier.Apply(t.Context(), apply.Intent{Config: config()})
	if err != nil {
		t.Fatal(err)
	}
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "a"}}
	if err := c.Delete(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	pinned := config().WithUID(created.Object.UID)
	if _, err := applier.Apply(t.Context(), apply.Intent{Config: pinned}); !errors.Is(err, apply.ErrUIDMismatch) {
		t.Errorf("absent: got %v, want ErrUIDMismatch", err)
	}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(object), object); !apierrors.IsNotFound(err) {
		t.Errorf("the object is back: %v", err)
	}
	if _, err := applier.Apply(t.Context(), apply.Intent{Config: config().WithData(map[string]string{"k": "new"})}); err != nil {
		t.Fatal(err)
	}
	if _, err := applier.Apply(t.Context(), apply.Intent{Config: pinned}); !errors.Is(err, apply.ErrUIDMismatch) {
		t.Errorf("recreated: got %v, want ErrUIDMismatch", err)
	}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil || object.Data["k"] != "new" {
		t.Errorf("the recreated object was touched: %v %v", object.Data, err)
	}
}

func TestServerRefusals(t *testing.T) {
	c := kit.NewClient(t, kit.Server(t))
	namespace := kit.NewNamespace(t, c)
	applier := kit.NewApplier(t, c, "owner", apply.Policy{})
	object := func(fields map[string]any) apply.Intent {
		fields["apiVersion"], fields["kind"] = "apps/v1", "Deployment"
		fields["metadata"] = map[string]any{"name": "a", "namespace": namespace}
		return apply.Intent{Config: client.ApplyConfigurationFromUnstructured(&unstructured.Unstructured{Object: fields})}
	}
	huge := strings.Repeat("x", 1_700_000)
	for reason, intent := range map[string]apply.Intent{
		"a partial intent creates nothing": {Config: kit.Replicas("a", namespace, 1)},
		"unknown field":                    object(map[string]any{"spec": map[string]any{"nope": int64(1)}}),
		"wrong type":                       object(map[string]any{"spec": map[string]any{"replicas": "one"}}),
		"duplicate list key": {Config: func() *appsv1ac.DeploymentApplyConfiguration {
			d := kit.Deployment("a", namespace, "v1")
			d.Spec.Template.Spec.WithContainers(corev1ac.Container().WithName("web").WithImage("v2"))
			return d
		}()},
		"too large":    {Config: corev1ac.ConfigMap("a", namespace).WithData(map[string]string{"k": huge})},
		"no namespace": {Config: corev1ac.ConfigMap("a", "does-not-exist")},
		"no such kind": {Config: client.ApplyConfigurationFromUnstructured(&unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "none.example.com/v1", "kind": "None", "metadata": map[string]any{"name": "a"}}})},
	} {
		_, err := applier.Apply(t.Context(), intent)
		if _, refused := errors.AsType[*apply.RefusedError](err); !refused {
			t.Errorf("%s: got %v, want a RefusedError", reason, err)
		}
	}
}

// TestRetryOnConflictBurnsItsAttempts shows why an ownership conflict must not be
// taken for a stale write.
func TestRetryOnConflictBurnsItsAttempts(t *testing.T) {
	c := kit.NewClient(t, kit.Server(t))
	namespace := kit.NewNamespace(t, c)
	if _, err := kit.NewApplier(t, c, "owner", apply.Policy{}).Apply(t.Context(), apply.Intent{Config: kit.Deployment("a", namespace, "v1")}); err != nil {
		t.Fatal(err)
	}
	attempts := 0
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		attempts++
		return c.Apply(t.Context(), kit.Deployment("a", namespace, "v2"), client.FieldOwner("other"))
	})
	if !apply.IsOwnershipConflict(err) || apply.IsStaleWrite(err) || attempts != retry.DefaultRetry.Steps {
		t.Errorf("%d attempts, %v", attempts, err)
	}
}
