package arms

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/compare"
)

// withExpectations creates or deletes pods of a set until the set has Intent.Replicas pods. It does not write to a
// set again until the cache shows its earlier creations and deletions.
func withExpectations(s compare.Session) writer {
	var expected expectations
	return func(ctx context.Context, set compare.Intent) (compare.Receipt, error) {
		key := types.NamespacedName{Namespace: set.Namespace, Name: set.Name}
		turn := expected.turn(key)
		pods, err := listPods(ctx, s.Cache, set)
		if err != nil {
			return compare.Receipt{}, err
		}
		if len(pods) == set.Replicas || !expected.begin(key, turn, pods) {
			return compare.Receipt{Skipped: true}, nil
		}
		defer expected.end(key)
		c := s.Client(set.Manager)
		for range set.Replicas - len(pods) {
			pod := newPod(set)
			if err := c.Create(ctx, pod, client.FieldOwner(set.Manager)); err != nil {
				return compare.Receipt{}, err
			}
			expected.created(key, pod.GetUID())
		}
		for i := range len(pods) - set.Replicas {
			if err := client.IgnoreNotFound(c.Delete(ctx, &pods[i])); err != nil {
				return compare.Receipt{}, err
			}
			expected.deleted(key, pods[i].GetUID())
		}
		return compare.Receipt{}, nil
	}
}

// expectations tracks the writes to each set that the cache does not show yet, like UIDTrackingControllerExpectations
// in Kubernetes' package controller. In Kubernetes, the work queue gives each set to one worker at a time. In the
// benchmark, two writers may handle the same set at the same time. The method begin therefore admits one writer at a
// time. It also rejects a writer that called the method turn before another writer was admitted.
type expectations struct {
	mu    sync.Mutex
	bySet map[types.NamespacedName]*expectation
}

type expectation struct {
	turn             int // number of writers that the method begin has admitted to the set
	acting           bool
	created, deleted sets.Set[types.UID]
	since            time.Time
}

// patience is the time after which earlier writes that the cache still does not show are ignored, as in Kubernetes.
const patience = 5 * time.Minute

// turn returns the number of writers that the method begin has admitted to the set so far. A writer must call turn
// before it reads the pods, and pass the number to begin.
func (e *expectations) turn(key types.NamespacedName) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.of(key).turn
}

// begin reports whether it admits a writer to the set: no other writer is active, none was admitted since this writer called turn, and
// either the given pods show all earlier writes or patience has passed since the last admission. An admitted writer must call end.
func (e *expectations) begin(key types.NamespacedName, turn int, pods []unstructured.Unstructured) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	last := e.of(key)
	if last.acting || last.turn != turn {
		return false
	}
	shown := sets.New[types.UID]()
	for _, pod := range pods {
		shown.Insert(pod.GetUID())
	}
	satisfied := shown.IsSuperset(last.created) && !shown.HasAny(last.deleted.UnsortedList()...)
	if !satisfied && time.Since(last.since) < patience {
		return false
	}
	e.bySet[key] = &expectation{turn: turn + 1, acting: true, since: time.Now(),
		created: sets.New[types.UID](), deleted: sets.New[types.UID]()}
	return true
}

func (e *expectations) end(key types.NamespacedName) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.of(key).acting = false
}

func (e *expectations) created(key types.NamespacedName, pod types.UID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.of(key).created.Insert(pod)
}

func (e *expectations) deleted(key types.NamespacedName, pod types.UID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.of(key).deleted.Insert(pod)
}

// of returns the expectation of a set. The caller must hold the lock.
func (e *expectations) of(key types.NamespacedName) *expectation {
	if e.bySet == nil {
		e.bySet = map[types.NamespacedName]*expectation{}
	}
	if e.bySet[key] == nil {
		e.bySet[key] = &expectation{}
	}
	return e.bySet[key]
}
