package peers

import (
	"context"

	"github.com/fluxcd/pkg/ssa"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/lanes"
	"coapply.dev/compare/workloads/deployment"
)

// measured is the field manager whose reconciles are measured.
const measured = "m0"

// reconcileFunc brings a Deployment to the wanted state. A reconciler calls such a function for each object that it emits.
type reconcileFunc func(ctx context.Context, wanted *appsv1ac.DeploymentApplyConfiguration) error

// peer is one way to write.
type peer struct {
	name   string
	silent bool // whether the peer sends nothing if the object is as wanted, and nobody else writes to the object
	start  func(*world) (reconcileFunc, error)
}

const ours = "coapply"

func peers() []peer {
	return []peer{
		{name: ours, silent: true, start: applier},
		{name: "client.Apply", start: plainApply()},
		{name: "client.Apply forced", start: plainApply(client.ForceOwnership)},
		{name: "fluxcd/pkg/ssa", start: flux},
		{name: "resourceVersion cache", silent: true, start: versionCache},
		{name: "Extract + DeepEqual", silent: true, start: extract},
		{name: "CreateOrUpdate", silent: true, start: createOrUpdate(setFields)},
		{name: "CreateOrUpdate, whole template", start: createOrUpdate(setTemplate)},
	}
}

func newApplier(w *world) (*apply.Applier, error) {
	steady, err := apply.NewSteadyState(w.cache, w.schemas)
	if err != nil {
		return nil, err
	}
	return apply.New(w.cached, apply.Config{FieldManager: measured, LiveReader: w.live, Lanes: lanes.New(), Steady: steady})
}

func applier(w *world) (reconcileFunc, error) {
	a, err := newApplier(w)
	return func(ctx context.Context, wanted *appsv1ac.DeploymentApplyConfiguration) error {
		_, err := a.Apply(ctx, apply.Intent{Config: wanted})
		return err
	}, err
}

// plainApply sends every intent.
func plainApply(options ...client.ApplyOption) func(*world) (reconcileFunc, error) {
	return func(w *world) (reconcileFunc, error) {
		return func(ctx context.Context, wanted *appsv1ac.DeploymentApplyConfiguration) error {
			return w.cached.Apply(ctx, wanted, append(options, client.FieldOwner(measured))...)
		}, nil
	}
}

// flux reads from the API server, like the controllers of Flux. Then it makes a dry run, compares, and applies if there is a difference.
func flux(w *world) (reconcileFunc, error) {
	manager := ssa.NewResourceManager(w.live, nil, ssa.Owner{Field: measured, Group: "peers.coapply.dev"})
	return func(ctx context.Context, wanted *appsv1ac.DeploymentApplyConfiguration) error {
		object, err := deployment.Unstructured(wanted)
		if err != nil {
			return err
		}
		_, err = manager.Apply(ctx, object, ssa.DefaultApplyOptions())
		return err
	}, nil
}

// extract sends nothing if the fields that the manager owns in the cached object are the wanted fields.
func extract(w *world) (reconcileFunc, error) {
	return func(ctx context.Context, wanted *appsv1ac.DeploymentApplyConfiguration) error {
		live := &appsv1.Deployment{}
		err := w.cached.Get(ctx, types.NamespacedName{Namespace: *wanted.Namespace, Name: *wanted.Name}, live)
		if client.IgnoreNotFound(err) != nil {
			return err
		}
		if !apierrors.IsNotFound(err) {
			same, err := extracted(live, wanted)
			if same || err != nil {
				return err
			}
		}
		return w.cached.Apply(ctx, wanted, client.FieldOwner(measured))
	}, nil
}

// extracted reports whether the manager owns exactly the wanted fields, with the wanted values.
func extracted(live *appsv1.Deployment, wanted *appsv1ac.DeploymentApplyConfiguration) (bool, error) {
	owned, err := appsv1ac.ExtractDeployment(live, measured)
	return err == nil && equality.Semantic.DeepEqual(owned, wanted), err
}
