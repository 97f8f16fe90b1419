package apply

import (
	"context"
	"fmt"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"coapply.dev/apply"
	"coapply.dev/test/kit"
)

// scaleChanges is how often somebody changes the status of the child in TestDropInWakesAsOften.
const scaleChanges = 10

// TestDropInWakesAsOften: where events come one by one, the drop-in client leads to as many
// reconciles and status writes as the manager's client. A busy controller may reconcile more
// often: its reconciles are shorter, so that its queue merges fewer events.
func TestDropInWakesAsOften(t *testing.T) {
	t.Parallel()
	for _, ours := range []bool{false, true} {
		t.Run(map[bool]string{false: "the manager's client", true: "the drop-in client"}[ours], func(t *testing.T) {
			t.Parallel()
			d := startDropIn(t, ours, apply.OnConflict(apply.Force))
			m := startMirror(t, d)
			m.await(t, 0)
			d.recorder.Reset()
			before := m.count()
			for n := range int32(scaleChanges) {
				m.scaleChild(t, n+1)
				m.await(t, n+1)
			}
			if got := m.count() - before; got != 2*scaleChanges { // one for the child's event, one for that of the parent's status
				t.Errorf("%d changes led to %d reconciles", scaleChanges, got)
			}
			applies, updates := m.writes()
			if want := map[bool]int{false: 2 * scaleChanges, true: 0}[ours]; applies != want {
				t.Errorf("%d changes led to %d applies, not %d", scaleChanges, applies, want)
			}
			if updates != scaleChanges {
				t.Errorf("%d changes led to %d updates of the status", scaleChanges, updates)
			}
		})
	}
}

// mirror is a controller that writes as LeaderWorkerSet does: it reads, patches its child with
// client.Apply by force, and updates the parent's status where that is not the child's.
type mirror struct {
	*dropIn

	mu         sync.Mutex
	reconciles int
	equal      int32 // the replicas that the last reconcile found in both statuses; -1: it found others
}

func startMirror(t *testing.T, d *dropIn) *mirror {
	t.Helper()
	m := &mirror{dropIn: d, equal: -1}
	err := ctrl.NewControllerManagedBy(d.mgr).For(&appsv1.Deployment{}).Owns(&appsv1.StatefulSet{}).
		Complete(reconcile.Func(func(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
			if request.Namespace != d.namespace {
				return ctrl.Result{}, nil
			}
			equal, err := m.reconcile(ctx, request)
			m.mu.Lock()
			defer m.mu.Unlock()
			m.reconciles++
			m.equal = equal
			return ctrl.Result{}, err
		}))
	if err != nil {
		t.Fatal(err)
	}
	if err := d.live.Create(t.Context(), m.parent()); err != nil {
		t.Fatal(err)
	}
	return m
}

func (m *mirror) parent() *appsv1.Deployment {
	labels := map[string]string{"app": "mirror"}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: m.namespace, Name: "mirror"},
		Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "main"}}},
		}},
	}
}

// reconcile reads both objects before it writes, so that one that creates the child has not seen it.
func (m *mirror) reconcile(ctx context.Context, request ctrl.Request) (equal int32, err error) {
	parent, child := &appsv1.Deployment{}, &appsv1.StatefulSet{}
	if err := m.Get(ctx, request.NamespacedName, parent); err != nil {
		return -1, client.IgnoreNotFound(err)
	}
	missing := m.Get(ctx, request.NamespacedName, child)
	if client.IgnoreNotFound(missing) != nil {
		return -1, missing
	}
	body := kit.ObjectOf("apps/v1", "StatefulSet", parent.Namespace, parent.Name, map[string]any{
		"serviceName": "mirror", "replicas": int64(scaleChanges),
		"selector": map[string]any{"matchLabels": map[string]any{"app": "mirror"}},
		"template": map[string]any{
			"metadata": map[string]any{"labels": map[string]any{"app": "mirror"}},
			"spec":     map[string]any{"containers": []any{map[string]any{"name": "main", "image": "main"}}},
		},
	})
	if err := ctrl.SetControllerReference(parent, body, kit.Scheme); err != nil {
		return -1, err
	}
	if err := m.Patch(ctx, body, client.Apply, client.ForceOwnership); err != nil || missing != nil { //nolint:staticcheck // LeaderWorkerSet patches so
		return -1, err
	}
	if parent.Status.Replicas == child.Status.Replicas {
		return child.Status.Replicas, nil
	}
	parent.Status.Replicas = child.Status.Replicas
	return -1, m.Status().Update(ctx, parent)
}

func (m *mirror) scaleChild(t *testing.T, replicas int32) {
	t.Helper()
	child := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: m.namespace, Name: "mirror"}}
	patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"status":{"replicas":%d}}`, replicas))
	if err := m.live.Status().Patch(t.Context(), child, patch); err != nil {
		t.Fatal(err)
	}
}

// await waits until a reconcile has found these replicas in both statuses. Nothing that it wrote
// is under way then.
func (m *mirror) await(t *testing.T, replicas int32) {
	t.Helper()
	kit.WaitFor(t, fmt.Sprintf("both statuses have %d replicas", replicas), func() string {
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.equal != replicas {
			return fmt.Sprintf("the last reconcile found %d", m.equal)
		}
		return ""
	})
}

func (m *mirror) count() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.reconciles
}

// writes returns the number of requests to apply the child, and to update the parent's status.
func (m *mirror) writes() (applies, updates int) {
	return m.recorder.Count(kit.Request{Verb: "apply", Resource: "statefulsets"}),
		m.recorder.Count(kit.Request{Verb: "update", Resource: "deployments", Subresource: "status"})
}
