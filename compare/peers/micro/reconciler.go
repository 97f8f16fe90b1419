package micro

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"coapply.dev/apply"
	"coapply.dev/apply/lanes"
	"coapply.dev/apply/reconciler"
	"coapply.dev/apply/update"
	"coapply.dev/compare/peers/deployment"
)

const (
	reconciled = "through reconciler"
	pruned     = "through reconciler, with Prune"
)

// reconciled is what a user runs: a reconciler of a ConfigMap, which emits the Deployment.
func (s *setup) reconciled(ctx context.Context, name, parent string, prune bool) (one, error) {
	process, counter, err := s.world.Process(deployment.Workload)
	if err != nil {
		return one{}, err
	}
	steady, err := apply.NewSteadyState(s.world.Cache, s.world.Schemas)
	if err != nil {
		return one{}, err
	}
	lanes := lanes.New()
	applier, err := apply.New(process.Client, apply.Config{FieldManager: process.Manager, LiveReader: process.Live, Lanes: lanes, Steady: steady})
	if err != nil {
		return one{}, err
	}
	updater, err := update.New(update.Config{Client: process.Client, FieldManager: process.Manager, LiveReader: process.Live, Lanes: lanes})
	if err != nil {
		return one{}, err
	}
	config := reconciler.Config[*corev1.ConfigMap]{
		Client: s.world.Cache, Applier: applier, Updater: updater, Emit: emitDeployment, Prune: prune,
	}
	if prune {
		config.Finalizer = "peers.coapply.dev/pruned"
	}
	r, err := reconciler.New(config)
	if err != nil {
		return one{}, err
	}
	key := types.NamespacedName{Namespace: s.world.Namespace, Name: parent}
	once := func(ctx context.Context) error {
		_, err := r.Reconcile(ctx, reconcile.Request{NamespacedName: key})
		return err
	}
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	if err := s.settled(ctx, object, once, counter.Take); err != nil {
		return one{}, fmt.Errorf("%s: %w", name, err)
	}
	return silently(name, once, counter), nil
}

// emitDeployment is the intent of the workload's manager, for a child of the parent.
func emitDeployment(parent *corev1.ConfigMap) (reconciler.Emission, error) {
	owner := metav1ac.OwnerReference().WithAPIVersion("v1").WithKind("ConfigMap").WithName(parent.Name).WithUID(parent.UID)
	config := deployment.Intent(parent.Namespace, parent.Name, 0, deployment.Start).WithOwnerReferences(owner)
	return reconciler.Emission{Intents: []apply.Intent{{Config: config}}}, nil
}

// settled makes a parent, has it reconciled, lets the other managers write to its Deployment, and returns when reconciles
// send nothing any more.
func (s *setup) settled(ctx context.Context, parent client.Object, once func(context.Context) error, take func() map[string]int) error {
	ctx, cancel := context.WithTimeout(ctx, settle)
	defer cancel()
	admin := s.world.Admin
	if err := admin.Create(ctx, parent); err != nil {
		return err
	}
	if err := untilSilent(ctx, once, take); err != nil {
		return err
	}
	for j := 1; j < deployment.Managers; j++ {
		config := deployment.Intent(parent.GetNamespace(), parent.GetName(), j, deployment.Start)
		if err := admin.Apply(ctx, config, client.FieldOwner(deployment.Manager(j))); err != nil {
			return err
		}
	}
	return untilSilent(ctx, once, take)
}

// untilSilent returns when ten reconciles one after another have sent nothing.
func untilSilent(ctx context.Context, once func(context.Context) error, take func() map[string]int) error {
	for silent := 0; silent < 10; silent++ {
		err := once(ctx)
		if sent := take(); err != nil || len(sent) > 0 {
			silent = 0
		}
		select {
		case <-time.After(20 * time.Millisecond): // for the cache
		case <-ctx.Done():
			return errors.Join(errors.New("the reconciles do not become silent"), err)
		}
	}
	return nil
}
