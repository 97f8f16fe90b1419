package apply

import (
	"context"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply/update"
)

const keepFinalizer, ourFinalizer = "example.com/keep", "example.com/ours"

// withFinalizers has the finalizers that the verbs below work on.
func (g *gone) withFinalizers() metav1.ObjectMeta {
	named := g.meta()
	named.Finalizers = []string{keepFinalizer, ourFinalizer}
	return named
}

// updating gives the call of a verb of package update on an object that "them"
// creates: as read, as read before another writer changed it, or by its name only.
func updating[T client.Object](create func(*gone) T, given string, call func(context.Context, *update.Updater, T) (update.Result[T], error)) func(*gone) goneCall {
	return func(g *gone) goneCall {
		g.recreate = func() client.Object { return g.created(create(g), "them") }
		g.object = g.recreate()
		object := g.object.DeepCopyObject().(T)
		switch given {
		case "stale":
			label := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"other":"writer"}}}`))
			g.must(g.c.Patch(g.ctx(), g.object.DeepCopyObject().(T), label, client.FieldOwner("other")))
		case "name":
			object.SetUID("")
		}
		updater := newUpdater(g, g.c, update.DefaultRetry)
		return func(ctx context.Context) (string, error) {
			result, err := call(ctx, updater, object)
			if !result.Changed {
				return "nothing to do", err
			}
			return "updated", err
		}
	}
}

// updatesOf gives a verb with the three ways to give an object.
func updatesOf[T client.Object](name string, create func(*gone) T, deleted []string, call func(context.Context, *update.Updater, T) (update.Result[T], error)) []goneCase {
	mismatch := []string{"UIDMismatch"}
	return []goneCase{
		{name: name + ", as read", prepare: updating(create, "", call), requests: 2, deleted: deleted, recreated: mismatch},
		{name: name + ", stale", prepare: updating(create, "stale", call), requests: 2, deleted: deleted, recreated: mismatch},
		{name: name + ", by name", prepare: updating(create, "name", call), requests: 2, picks: 1, deleted: deleted, recreated: mismatch},
	}
}

func TestGoneDuringUpdate(t *testing.T) {
	configMap := func(g *gone) *corev1.ConfigMap { return &corev1.ConfigMap{ObjectMeta: g.withFinalizers()} }
	notFound := []string{"NotFound"}
	do := updatesOf("Do", configMap, notFound, func(ctx context.Context, u *update.Updater, o *corev1.ConfigMap) (update.Result[*corev1.ConfigMap], error) {
		return update.Do(ctx, u, o, func(o *corev1.ConfigMap) error {
			o.Data = data("ours", "mine")
			return nil
		})
	})
	// A PUT creates a Lease that does not exist.
	lease := updatesOf("Do with a Lease", func(g *gone) *coordinationv1.Lease { return &coordinationv1.Lease{ObjectMeta: g.meta()} }, notFound,
		func(ctx context.Context, u *update.Updater, o *coordinationv1.Lease) (update.Result[*coordinationv1.Lease], error) {
			return update.Do(ctx, u, o, func(o *coordinationv1.Lease) error {
				o.Spec.HolderIdentity = new("us")
				return nil
			})
		})
	status := updatesOf("Status", func(g *gone) *appsv1.Deployment { return podsOf(g.meta()) }, notFound,
		func(ctx context.Context, u *update.Updater, o *appsv1.Deployment) (update.Result[*appsv1.Deployment], error) {
			return update.Status(ctx, u, o, func(o *appsv1.Deployment) error {
				o.Status.ObservedGeneration = 7
				return nil
			})
		})
	ensure := updatesOf("EnsureFinalizer", configMap, notFound, func(ctx context.Context, u *update.Updater, o *corev1.ConfigMap) (update.Result[*corev1.ConfigMap], error) {
		return update.EnsureFinalizer(ctx, u, o, "example.com/new")
	})
	remove := updatesOf("RemoveFinalizer", configMap, []string{"nothing to do"}, func(ctx context.Context, u *update.Updater, o *corev1.ConfigMap) (update.Result[*corev1.ConfigMap], error) {
		return update.RemoveFinalizer(ctx, u, o, ourFinalizer)
	})
	var cases []goneCase
	for _, verb := range [][]goneCase{do, lease, status, ensure, remove} {
		cases = append(cases, verb...)
	}
	runGone(t, cases)
}

func podsOf(named metav1.ObjectMeta) *appsv1.Deployment {
	labels := map[string]string{"app": named.Name}
	return &appsv1.Deployment{ObjectMeta: named, Spec: appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "v1"}}},
		},
	}}
}
