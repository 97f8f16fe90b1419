package apply

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/lanes"
	"coapply.dev/apply/update"
	"coapply.dev/test/kit"
)

// TestLanesOfTheFallback: all that one process writes to an object, by every verb of
// apply/update and by apply, from one old read. None of it is stale and nothing is
// lost: attempts are as many as calls, and none is left to a retry.
func TestLanesOfTheFallback(t *testing.T) {
	t.Parallel()
	const writers = 12 // of each verb
	var counted turns
	c, lanes := counted.client(t), lanes.New()
	object := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: kit.NewNamespace(t, c), Name: "hot"}}
	object.Spec.Ports = []corev1.ServicePort{{Port: 80}}
	for i := range writers {
		object.Finalizers = append(object.Finalizers, fmt.Sprint("example.com/old-", i))
	}
	if err := c.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	counted.byStatus = map[int]int{}
	updater, err := update.New(update.Config{
		Client: c, LiveReader: c, FieldManager: "updater", Backoff: wait.Backoff{Steps: 1}, Lanes: lanes,
	})
	if err != nil {
		t.Fatal(err)
	}
	applier, err := apply.New(c, apply.Config{FieldManager: "applier", LiveReader: c, Lanes: lanes})
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	call := func(verb string, do func() (update.Result[*corev1.Service], error)) {
		all.Go(func() {
			if result, err := do(); err != nil || result.Attempts != 1 || result.StaleWrites != 0 || !result.Changed {
				t.Errorf("%s: %d attempts, %d stale writes, changed %v, %v", verb, result.Attempts, result.StaleWrites, result.Changed, err)
			}
		})
	}
	for i := range writers {
		name := fmt.Sprint("by-", i)
		call("Do", func() (update.Result[*corev1.Service], error) {
			return update.Do(t.Context(), updater, object, func(s *corev1.Service) error {
				metav1.SetMetaDataLabel(&s.ObjectMeta, name, "do")
				return nil
			})
		})
		call("Status", func() (update.Result[*corev1.Service], error) {
			return update.Status(t.Context(), updater, object, func(s *corev1.Service) error {
				s.Status.Conditions = append(s.Status.Conditions, metav1.Condition{
					Type: name, Status: "True", Reason: "Up", LastTransitionTime: metav1.Now(),
				})
				return nil
			})
		})
		call("EnsureFinalizer", func() (update.Result[*corev1.Service], error) {
			return update.EnsureFinalizer(t.Context(), updater, object, fmt.Sprint("example.com/new-", i))
		})
		call("RemoveFinalizer", func() (update.Result[*corev1.Service], error) {
			return update.RemoveFinalizer(t.Context(), updater, object, fmt.Sprint("example.com/old-", i))
		})
		all.Go(func() {
			config := corev1ac.Service("hot", object.Namespace).WithAnnotations(map[string]string{"applied": name})
			if outcome, err := applier.Apply(t.Context(), apply.Intent{Config: config}); err != nil || outcome.Attempts != 1 {
				t.Errorf("%+v, %v", outcome, err)
			}
		})
	}
	all.Wait()
	if counted.max != 1 || counted.byStatus[http.StatusOK] != 5*writers || len(counted.byStatus) != 1 {
		t.Errorf("%d writes at once, answers %v; want one at a time and %d answers 200", counted.max, counted.byStatus, 5*writers)
	}
	wantAllOf(t, c, client.ObjectKeyFromObject(object), writers)
}

// wantAllOf holds that no writer's part was lost.
func wantAllOf(t *testing.T, c client.Client, key types.NamespacedName, writers int) {
	t.Helper()
	var live corev1.Service
	if err := c.Get(t.Context(), key, &live); err != nil {
		t.Fatal(err)
	}
	for i := range writers {
		name := fmt.Sprint("by-", i)
		conditioned := slices.ContainsFunc(live.Status.Conditions, func(c metav1.Condition) bool { return c.Type == name })
		if live.Labels[name] != "do" || !conditioned || !slices.Contains(live.Finalizers, fmt.Sprint("example.com/new-", i)) {
			t.Errorf("writer %d lost something: %v, %v, %v", i, live.Labels, live.Status.Conditions, live.Finalizers)
		}
	}
	if len(live.Finalizers) != writers {
		t.Errorf("finalizers: %v", live.Finalizers)
	}
	live.Finalizers = nil // so that the namespace can go
	if err := c.Update(t.Context(), &live); err != nil {
		t.Error(err)
	}
}
