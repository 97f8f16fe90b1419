package apply

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/applytest"
	"coapply.dev/test/kit"
)

// TestRecorderSeesTheWire compares the recorded requests with the calls made.
func TestRecorderSeesTheWire(t *testing.T) {
	recorder := applytest.NewRecorder()
	config := rest.CopyConfig(kit.Server(t))
	config.Wrap(recorder.Wrap)
	c, err := client.NewWithWatch(config, client.Options{Scheme: kit.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	namespace := kit.NewNamespace(t, c)
	live := ownedDeployment(t, c, namespace) // discovery is behind us
	recorder.Reset()

	all := client.InNamespace(namespace)
	label := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`))
	stale := live.DeepCopy()
	absent := &unstructured.Unstructured{} // sent as JSON, the others as protobuf
	absent.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("Deployment"))
	absent.SetNamespace(namespace)
	absent.SetName("none")
	for _, step := range []struct {
		want string // verb, resource with subresource, class
		call func() error
	}{
		{"get deployments.apps Success", func() error { return c.Get(t.Context(), client.ObjectKeyFromObject(live), live) }},
		{"get deployments.apps NotFound", func() error {
			return c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "none"}, &appsv1.Deployment{})
		}},
		{"list deployments.apps Success", func() error { return c.List(t.Context(), &appsv1.DeploymentList{}, all) }},
		{"get namespaces Success", func() error { return c.Get(t.Context(), client.ObjectKey{Name: namespace}, &corev1.Namespace{}) }},
		{"list configmaps Success", func() error { return c.List(t.Context(), &corev1.ConfigMapList{}) }},
		{"create configmaps Success", func() error {
			return c.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "c"}})
		}},
		{"create, dry run configmaps Retryable", func() error {
			return c.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "c"}}, client.DryRunAll)
		}},
		{"patch deployments.apps Success", func() error { return c.Patch(t.Context(), live, label) }},
		{"update deployments.apps StaleWrite", func() error { return c.Update(t.Context(), stale) }},
		{"update deployments.apps/status Success", func() error { return c.Status().Update(t.Context(), live) }},
		{"patch deployments.apps/scale Success", func() error {
			return c.SubResource("scale").Patch(t.Context(), live, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":4}}`)),
				client.WithSubResourceBody(&autoscalingv1.Scale{}))
		}},
		{"apply deployments.apps Conflict", func() error { return c.Apply(t.Context(), kit.Replicas("a", namespace, 3), applytestManager) }},
		{"apply, forced, dry run deployments.apps Success", func() error {
			return c.Apply(t.Context(), kit.Replicas("a", namespace, 3), applytestManager, client.ForceOwnership, client.DryRunAll)
		}},
		{"apply, forced deployments.apps Success", func() error {
			return c.Apply(t.Context(), kit.Replicas("a", namespace, 3), applytestManager, client.ForceOwnership)
		}},
		{"apply deployments.apps UIDMismatch", func() error {
			return c.Apply(t.Context(), kit.Replicas("a", namespace, 3).WithUID("0000-1"), applytestManager)
		}},
		{"apply deployments.apps Refused", func() error { return c.Apply(t.Context(), unknownFieldIn(namespace), applytestManager) }},
		{"apply deployments.apps NotFound", func() error { return c.Apply(t.Context(), kit.Replicas("a", "none", 3), applytestManager) }},
		{"delete, dry run configmaps Success", func() error {
			return c.Delete(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "c"}}, client.DryRunAll)
		}},
		{"delete, dry run deployments.apps NotFound", func() error { return c.Delete(t.Context(), absent, client.DryRunAll) }},
		{"deletecollection configmaps Success", func() error { return c.DeleteAllOf(t.Context(), &corev1.ConfigMap{}, all) }},
		{"watch deployments.apps Success", func() error { return firstWatchEvent(t, c, all) }},
	} {
		recorder.Reset()
		err := step.call()
		if got := recordedRows(recorder); !cmp.Equal(got, []string{step.want}) {
			t.Errorf("%q, want %q, after %v", got, step.want, err)
		}
		if (err == nil) != strings.HasSuffix(step.want, "Success") {
			t.Errorf("%s, and the client got %v", step.want, err)
		}
	}
}

func firstWatchEvent(t *testing.T, c client.WithWatch, opts ...client.ListOption) error {
	watch, err := c.Watch(t.Context(), &appsv1.DeploymentList{}, opts...)
	if err != nil {
		return err
	}
	defer watch.Stop()
	select {
	case event := <-watch.ResultChan():
		if event.Type != "ADDED" {
			return fmt.Errorf("got %v", event)
		}
		return nil
	case <-time.After(30 * time.Second):
		return errors.New("the watch does not stream")
	}
}

// recordedRows are those of the recorder's table, without counts and spaces.
func recordedRows(recorder *applytest.Recorder) []string {
	var all []string
	for line := range strings.Lines(recorder.String()) {
		if fields := strings.Fields(line); fields[0] != "COUNT" {
			all = append(all, strings.Join(fields[1:], " "))
		}
	}
	return all
}

// The Outcome of an Apply and the recorder count the same requests.
func TestRecorderAgreesWithOutcome(t *testing.T) {
	recorder := applytest.NewRecorder()
	config := rest.CopyConfig(kit.Server(t))
	config.Wrap(recorder.Wrap)
	c := kit.NewClient(t, config)
	namespace := kit.NewNamespace(t, c)
	ownedDeployment(t, c, namespace)
	applier := kit.NewApplier(t, c, "power", apply.OnConflict(apply.Reject).At(".spec.replicas", apply.Force))
	recorder.Reset()
	outcome, err := applier.Apply(t.Context(), apply.Intent{Config: kit.Replicas("a", namespace, 1), MustExist: true})
	if err != nil {
		t.Fatal(err)
	}
	if got := len(recorder.Requests()); got != outcome.Requests {
		t.Errorf("%d recorded and %d in the outcome:\n%v", got, outcome.Requests, recorder)
	}
	byUs := applytest.Request{Verb: applytest.VerbApply, FieldManager: "power"}
	forced := byUs
	forced.Forced = true
	if recorder.Count(byUs) != outcome.Attempts || recorder.Count(forced) != 1 {
		t.Errorf("want %d applies, one of them forced:\n%v", outcome.Attempts, recorder)
	}
}
