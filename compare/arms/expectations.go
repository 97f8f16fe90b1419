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

// withExpectations remembers what it created and deleted. Until the cache shows it, a set is left alone.
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

// expectations are what the cache has still to show of each set, as in the package controller of Kubernetes
// (UIDTrackingControllerExpectations). There, a work queue gives a set to one worker at a time; here two writers may
// hold one set, and who read before another acted has to come again.
type expectations struct {
	mu    sync.Mutex
	bySet map[types.NamespacedName]*expectation
}

type expectation struct {
	turn             int // counts those who acted
	acting           bool
	created, deleted sets.Set[types.UID]
	since            time.Time
}

// patience is how long Kubernetes waits for what it expects.
const patience = 5 * time.Minute

// turn is to be asked for before the set is read.
func (e *expectations) turn(key types.NamespacedName) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.of(key).turn
}

// begin reports whether the pods that were read show everything that was done before. If so, no other writer begins until
// end.
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

// of returns what is expected of a set; the caller holds the lock.
func (e *expectations) of(key types.NamespacedName) *expectation {
	if e.bySet == nil {
		e.bySet = map[types.NamespacedName]*expectation{}
	}
	if e.bySet[key] == nil {
		e.bySet[key] = &expectation{}
	}
	return e.bySet[key]
}
