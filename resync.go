package coapply

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// resync puts the parents of a controller into its queue, one after the other, again and again.
// It has one timer, and keeps the names of one round in memory.
type resync struct {
	parents func(context.Context) ([]types.NamespacedName, error)
	every   time.Duration
}

type requests = workqueue.TypedRateLimitingInterface[reconcile.Request]

func (r resync) source() source.Source {
	return source.Func(func(ctx context.Context, queue requests) error {
		go r.run(ctx, queue)
		return nil
	})
}

// resyncStep is how often the timer of a resync fires: often enough that its batches are small,
// and seldom enough that an idle process sleeps.
const resyncStep = time.Second

func (r resync) run(ctx context.Context, queue requests) {
	step := min(resyncStep, r.every)
	tick := time.NewTicker(step)
	defer tick.Stop()
	steps := int(r.every / step)
	for {
		// The first round begins a step after the start, when all are reconciled anyway.
		var round []types.NamespacedName
		for at := range steps {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if at == 0 {
				if names, err := r.parents(ctx); err == nil { // a list from the cache fails only while the process ends
					round = names
				}
			}
			enqueue(queue, share(round, at, steps))
		}
	}
}

// share returns the part of a round for a step. All parts together are the round.
func share(round []types.NamespacedName, at, steps int) []types.NamespacedName {
	return round[len(round)*at/steps : len(round)*(at+1)/steps]
}

// enqueue adds names to the queue, with low priority if the queue has priorities, so that they
// come after what has changed.
func enqueue(queue requests, names []types.NamespacedName) {
	if len(names) == 0 {
		return
	}
	batch := make([]reconcile.Request, len(names))
	for i, name := range names {
		batch[i].NamespacedName = name
	}
	if prioritised, ok := queue.(priorityqueue.PriorityQueue[reconcile.Request]); ok {
		prioritised.AddWithOpts(priorityqueue.AddOpts{Priority: new(handler.LowPriority)}, batch...)
		return
	}
	for _, request := range batch {
		queue.Add(request)
	}
}

// namesOf returns a function that lists the objects of a kind in the cache, in the same order
// each time, so that the time between two turns of one of them is that of a round.
func namesOf(
	reader client.Reader, scheme *runtime.Scheme, kind schema.GroupVersionKind,
) (func(context.Context) ([]types.NamespacedName, error), error) {
	made, err := scheme.New(kind.GroupVersion().WithKind(kind.Kind + "List"))
	if err != nil {
		return nil, err
	}
	list, ok := made.(client.ObjectList)
	if !ok {
		return nil, fmt.Errorf("%T is no list of objects", made)
	}
	return func(ctx context.Context) (names []types.NamespacedName, err error) {
		all := list.DeepCopyObject().(client.ObjectList)
		if err := reader.List(ctx, all, client.UnsafeDisableDeepCopy); err != nil {
			return nil, err
		}
		err = meta.EachListItem(all, func(item runtime.Object) error {
			names = append(names, client.ObjectKeyFromObject(item.(client.Object)))
			return nil
		})
		slices.SortFunc(names, func(a, b types.NamespacedName) int {
			return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
		})
		return names, err
	}, nil
}
