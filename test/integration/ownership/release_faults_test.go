package ownership

import (
	"errors"
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	autoscalingv1ac "k8s.io/client-go/applyconfigurations/autoscaling/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/ownership"
	"coapply.dev/test/kit"
)

func TestReleaseNeverBringsBack(t *testing.T) {
	c := kit.NewClient(t, kit.Server(t))
	namespace := kit.NewNamespace(t, c)
	for name, test := range map[string]struct {
		recreate, known, early bool
		want                   apply.Action
		err                    error
	}{
		"absent":              {known: true, early: true, want: apply.Absent},
		"recreated":           {known: true, early: true, recreate: true, err: apply.ErrUIDMismatch},
		"deleted-meanwhile":   {want: apply.Absent},
		"recreated-meanwhile": {recreate: true, err: apply.ErrUIDMismatch},
	} {
		object := kit.RefOf("v1", "ConfigMap", namespace, name)
		creator := kit.NewApplier(t, c, "leaving", apply.Policy{})
		intent := apply.Intent{Config: corev1ac.ConfigMap(name, namespace).WithData(map[string]string{"x": "1"})}
		kit.MustApply(t, creator, intent)
		live, _ := liveFields(t, c, object)
		happen := func() {
			if err := c.Delete(t.Context(), live); err != nil {
				t.Fatal(err)
			}
			if test.recreate {
				kit.MustApply(t, creator, intent)
			}
		}
		reader := &kit.Meddler{Reader: c, Times: 1, Then: happen}
		if test.early {
			happen()
			reader.Times = 0
		}
		if test.known {
			object.UID = live.GetUID()
		}
		leaving, err := apply.New(c, apply.Config{FieldManager: "leaving", LiveReader: reader})
		if err != nil {
			t.Fatal(err)
		}
		outcome, err := ownership.Release(t.Context(), leaving, object)
		if outcome.Action != test.want || !errors.Is(err, test.err) || test.err == nil && err != nil {
			t.Errorf("%s: %q, %v; want %q, %v", name, outcome.Action, err, test.want, test.err)
		}
		var now corev1.ConfigMap
		switch err := c.Get(t.Context(), object.NamespacedName, &now); {
		case !test.recreate && !apierrors.IsNotFound(err):
			t.Errorf("%s: it is back: %v", name, err)
		case test.recreate && (err != nil || len(now.ManagedFields) != 1 || now.Data["x"] != "1"):
			t.Errorf("%s: the new object was touched: %v, %v", name, now, err)
		}
	}
}

// TestReleaseOfScaleAgainstWriters has somebody write after each read, so that the
// managed fields may not be written at the version read.
func TestReleaseOfScaleAgainstWriters(t *testing.T) {
	c := kit.NewClient(t, kit.Server(t))
	namespace := kit.NewNamespace(t, c)
	for name, test := range map[string]struct {
		writes, attempts int
		err              error
	}{
		"overtaken-twice":  {2, 3, nil},
		"always-overtaken": {100, 8, apply.ErrContended},
	} {
		kit.MustApply(t, kit.NewApplier(t, c, "owner", apply.Policy{}), apply.Intent{Config: kit.Deployment(name, namespace, "v1")})
		kit.MustApply(t, kit.NewApplier(t, c, "leaving", apply.Policy{}), apply.Intent{Config: kit.Replicas(name, namespace, 4)},
			apply.Intent{Config: appsv1ac.Deployment(name, namespace), Subresource: "scale",
				Body: autoscalingv1ac.Scale().WithSpec(autoscalingv1ac.ScaleSpec().WithReplicas(4))},
			apply.Intent{Config: appsv1ac.Deployment(name, namespace)})
		written := 0
		write := func() {
			written++
			kit.MustApply(t, kit.NewApplier(t, c, fmt.Sprintf("writer-%d", written), apply.Policy{}), apply.Intent{
				Config: appsv1ac.Deployment(name, namespace).WithLabels(map[string]string{fmt.Sprintf("n%d", written): "x"})})
		}
		leaving, err := apply.New(c, apply.Config{FieldManager: "leaving", LiveReader: &kit.Meddler{Reader: c, Times: test.writes, Then: write}})
		if err != nil {
			t.Fatal(err)
		}
		outcome, err := ownership.Release(t.Context(), leaving, kit.RefOf("apps/v1", "Deployment", namespace, name))
		if !errors.Is(err, test.err) || test.err == nil && err != nil || outcome.Attempts != test.attempts {
			t.Errorf("%s: %d attempts, %v; want %d, %v", name, outcome.Attempts, err, test.attempts, test.err)
		}
		var live appsv1.Deployment
		if err := c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, &live); err != nil {
			t.Fatal(err)
		}
		if len(live.Labels) != written || *live.Spec.Replicas != 4 {
			t.Errorf("%s: labels %v of %d writers, %d replicas", name, live.Labels, written, *live.Spec.Replicas)
		}
		for i := range written {
			path := fmt.Sprintf(".metadata.labels.n%d", i+1)
			if owners := kit.OwnersOf(t, c, namespace, name, path); len(owners) != 1 {
				t.Errorf("%s: %s is owned by %v", name, path, owners)
			}
		}
	}
}
