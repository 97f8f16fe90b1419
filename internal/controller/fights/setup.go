package fights

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"

	"coapply.dev/apply"
	"coapply.dev/apply/contention"
	"coapply.dev/fieldowners/contract"
	"coapply.dev/internal/controller/fieldmanagers"
	"coapply.dev/internal/controller/setup"
)

// Setup adds the fight detector, unless it is turned off.
func Setup(mgr ctrl.Manager, options setup.Options) error {
	if options.Contention == nil {
		return nil
	}
	kinds, err := watched(mgr.GetScheme(), fieldmanagers.All())
	if err != nil {
		return fmt.Errorf("fights: %w", err)
	}
	config := options.Runtime.ApplierConfig(fieldmanagers.Fights, apply.Policy{})
	config.Policy = apply.OnConflict(apply.Force) // the condition is ours, whoever edited it, and asks nobody
	applier, err := apply.New(mgr.GetClient(), config)
	if err != nil {
		return fmt.Errorf("fights: %w", err)
	}
	wide, err := clusterWide(mgr.GetRESTMapper(), kinds)
	if err != nil {
		return fmt.Errorf("fights: %w", err)
	}
	if err := mgr.Add(leading{options.Contention}); err != nil {
		return fmt.Errorf("fights: %w", err)
	}
	controller := builder.TypedControllerManagedBy[apply.ObjectRef](mgr).Named("fights")
	for _, kind := range kinds {
		metadata := &metav1.PartialObjectMetadata{}
		metadata.SetGroupVersionKind(kind)
		controller.WatchesMetadata(metadata, watcher{kind, wide, options.Contention}.handler())
	}
	return controller.Complete(&teller{
		state:   options.Contention,
		live:    mgr.GetAPIReader(),
		applier: applier,
		events:  mgr.GetEventRecorder(fieldmanagers.Fights),
	})
}

// leading calls State.Lead when this process gets the lead: controller-runtime starts it
// only then.
type leading struct{ state *contention.State }

// Start implements manager.Runnable.
func (l leading) Start(context.Context) error {
	l.state.Lead()
	return nil
}

// watched are the kinds that our managers apply to, each in the version that the
// scheme prefers.
func watched(scheme *runtime.Scheme, claims contract.Contract) ([]schema.GroupVersionKind, error) {
	var kinds []schema.GroupVersionKind
	for _, claim := range claims {
		kind := claim.Kind
		versions := scheme.VersionsForGroupKind(kind) // the one that is preferred comes first
		switch {
		case len(claim.Applies) == 0:
		case len(versions) == 0:
			return nil, fmt.Errorf("the scheme does not know %s, which %s claims", claim.Kind, claim.Manager)
		case !slices.Contains(kinds, versions[0].WithKind(kind.Kind)):
			kinds = append(kinds, versions[0].WithKind(kind.Kind))
		}
	}
	return kinds, nil
}

// clusterWide are those of our kinds that have no namespace.
func clusterWide(mapper meta.RESTMapper, kinds []schema.GroupVersionKind) (map[string]bool, error) {
	wide := map[string]bool{}
	for _, kind := range kinds {
		if !ofOurs(kind) {
			continue
		}
		mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
		if err != nil {
			return nil, err
		}
		wide[kind.Kind] = mapping.Scope.Name() == meta.RESTScopeNameRoot
	}
	return wide, nil
}
