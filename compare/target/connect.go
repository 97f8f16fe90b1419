package target

import (
	"context"
	"errors"
	"fmt"
	"io"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// ErrDeclined is the error of Connect if the user does not agree to run the benchmark on the cluster.
var ErrDeclined = errors.New("declined: nothing was written")

// Options select the user's cluster on which to run the benchmark.
type Options struct {
	// Kubeconfig is the path of a kubeconfig file. If it is empty, $KUBECONFIG or ~/.kube/config is used.
	Kubeconfig string
	// Context is the name of a context in the kubeconfig. If it is empty, the current context is used.
	Context string
	// Log gets one line for each step of the setup.
	Log io.Writer
}

// Connect prepares a cluster of the user for a run. It calls confirm, which asks the user to agree. Then it creates a
// namespace, and a service account in the namespace. It changes no existing objects.
func Connect(ctx context.Context, options Options, confirm func(question string) (bool, error)) (*Target, error) {
	config, err := options.load()
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	t, err := newTarget(config, options.Log)
	if err != nil {
		return nil, err
	}
	if _, err := t.serverVersion(ctx); err != nil {
		return nil, fmt.Errorf("no response from the API server %s: %w", config.Host, err)
	}
	agreed, err := confirm(fmt.Sprintf("The benchmark will run on %s. The benchmark creates the namespace %s, writes only in this namespace, and deletes "+
		"the namespace at the end. The benchmark sends requests as fast as the API server answers: do not use a cluster that others depend on.", config.Host, t.namespace))
	if err != nil {
		return nil, err
	}
	if !agreed {
		return nil, ErrDeclined
	}
	return t.opened(ctx)
}

// load reads the configuration of the selected context from kubeconfig files. If the benchmark runs in a pod, load
// never uses the pod's service account, because the user did not select the pod's cluster.
func (o Options) load() (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = o.Kubeconfig
	raw, err := rules.Load()
	if err != nil {
		return nil, err
	}
	return clientcmd.NewNonInteractiveClientConfig(*raw, o.Context, &clientcmd.ConfigOverrides{}, rules).ClientConfig()
}
