package setup

import (
	"fmt"

	"k8s.io/client-go/discovery"
	ctrl "sigs.k8s.io/controller-runtime"

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
