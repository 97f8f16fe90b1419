package setup

import (
	"context"
	"fmt"

	"k8s.io/client-go/discovery"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
)

// NewSteady gives the steady-state check that all reconcilers of a manager share. The
// server's schemas may be read by whoever is authenticated (system:discovery).
func NewSteady(mgr ctrl.Manager) (*apply.SteadyState, error) {
	server, err := discovery.NewDiscoveryClientForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, fmt.Errorf("steady state: %w", err)
	}
	return apply.NewSteadyState(mgr.GetClient(), server.OpenAPIV3())
}

// mayWrite shows the steady-state check the objects that may be applied to. Any other
// is not proven to be as wanted, so that the apply is refused and says why.
type mayWrite struct{ ownOnly }

func (r mayWrite) Get(ctx context.Context, key client.ObjectKey, object client.Object, opts ...client.GetOption) error {
	if err := r.mayWriteIn(ctx, key.Namespace); err != nil {
		return err
	}
	return r.ownOnly.Get(ctx, key, object, opts...)
}
