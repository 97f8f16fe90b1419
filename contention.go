package coapply

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"coapply.dev/apply"
	"coapply.dev/apply/contention"
	"coapply.dev/apply/contention/watch"
)

// WithContention replaces the State with the default Config that detects fights. With nil
// nothing is detected, and nothing watched.
func WithContention(state *contention.State) Option {
	return func(rt *Runtime) error {
		rt.contention = state
		return nil
	}
}

// watchFights makes the Watch that shows the State what happens to the objects to which the
// process's controllers apply, and reports fights. See package watch.
func (rt *Runtime) watchFights() error {
	if rt.contention == nil {
		return nil
	}
	if err := rt.contention.RegisterIn(ctrlmetrics.Registry); err != nil {
		return err
	}
	config := rt.ApplierConfig(contention.FieldManager, apply.Policy{})
	config.Policy = apply.OnConflict(apply.Force) // the condition is forced, whoever edited it
	applier, err := apply.New(rt.mgr.GetClient(), config)
	if err != nil {
		return err
	}
	if rt.fights, err = watch.New(rt.mgr, rt.contention, applier); err != nil || rt.contracts == nil {
		return err
	}
	for _, claim := range rt.contracts(contention.FieldManager).Of(contention.FieldManager) {
		if kind, known := rt.preferred(claim.Kind); known {
			if err := rt.fights.Parent(kind); err != nil {
				return err
			}
		}
	}
	return nil
}

// watchContract watches the kinds that a field manager may apply to, as far as the
// manager's scheme knows them.
func (rt *Runtime) watchContract(fieldManager string) error {
	if rt.fights == nil || rt.contracts == nil {
		return nil
	}
	for _, claim := range rt.contracts(fieldManager).Of(fieldManager) {
		if kind, known := rt.preferred(claim.Kind); known && len(claim.Applies) > 0 {
			if err := rt.fights.Kind(kind); err != nil {
				return err
			}
		}
	}
	return nil
}

// preferred returns a kind in the version that the scheme prefers; false if the scheme does not
// know it.
func (rt *Runtime) preferred(kind schema.GroupKind) (schema.GroupVersionKind, bool) {
	versions := rt.mgr.GetScheme().VersionsForGroupKind(kind)
	if len(versions) == 0 {
		return schema.GroupVersionKind{}, false
	}
	return versions[0].WithKind(kind.Kind), true
}

// watchObjects watches the kinds of a controller: that of its parents, and those that it owns.
func (rt *Runtime) watchObjects(parent client.Object, owned []ownedKind) error {
	if rt.fights == nil {
		return nil
	}
	kind, err := rt.mgr.GetClient().GroupVersionKindFor(parent)
	if err == nil {
		err = rt.fights.Parent(kind)
	}
	for _, child := range owned {
		if err != nil {
			return err
		}
		if kind, err = rt.mgr.GetClient().GroupVersionKindFor(child.object); err == nil {
			err = rt.fights.Kind(kind)
		}
	}
	return err
}

// sent returns Metrics that tell the State what this process sent, and begin to watch kinds in
// which conflicts are met.
func (rt *Runtime) sent(fieldManager string) apply.Metrics {
	counted := rt.contention.Sent(fieldManager, rt.metrics)
	if rt.fights == nil {
		return counted
	}
	return conflictWatch{counted, rt.fights}
}

type conflictWatch struct {
	apply.Metrics

	fights *watch.Watch
}

// ObserveApply implements apply.Metrics.
func (m conflictWatch) ObserveApply(o apply.ApplyObservation) {
	if len(o.Conflicts) > 0 {
		m.fights.Conflicted(o.Object)
	}
	m.Metrics.ObserveApply(o)
}
