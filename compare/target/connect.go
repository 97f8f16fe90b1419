package target

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// ErrDeclined is the error of Connect if the user does not agree to run the benchmark on the cluster.
var ErrDeclined = errors.New("declined: nothing was written")

// Options select the user's cluster on which to run the benchmark.
type Options struct {
	// Kubeconfig is the path of a kubeconfig file. If it is empty, $KUBECONFIG or ~/.kube/config is used.
	Kubeconfig string
	// Context is the name of a context in the kubeconfig. If it is empty, the current context is used.
	Context string
	// Log gets one line for each step of the setup. It may be nil.
	Log io.Writer
}

// Connect prepares a cluster of the user for a run. It first checks whether the user has the rights that a run needs. Then
// it calls confirm, which asks the user to agree; if confirm is nil, it returns ErrDeclined. Then it creates a namespace,
// and a service account in the namespace. It changes no existing objects, and installs no CustomResourceDefinitions.
func Connect(ctx context.Context, options Options, confirm func(question string) (bool, error)) (*Target, error) {
	config, name, err := options.load()
	if err != nil {
		return nil, err
	}
	if options.Log == nil {
		options.Log = io.Discard
	}
	t, err := newTarget(config, options.Log)
	if err != nil {
		return nil, fmt.Errorf("context %q: %w", name, err)
	}
	if _, err := t.serverVersion(ctx); err != nil {
		return nil, fmt.Errorf("context %q: no response from the API server %s: %w", name, config.Host, err)
	}
	if err := t.checkRights(ctx); err != nil {
		return nil, fmt.Errorf("context %q: %w", name, err)
	}
	if confirm == nil {
		return nil, ErrDeclined
	}
	agreed, err := confirm(t.question(name))
	if err != nil {
		return nil, err
	}
	if !agreed {
		return nil, ErrDeclined
	}
	return t.opened(ctx)
}

func (t *Target) question(name string) string {
	return fmt.Sprintf("This runs a benchmark on %s (context %q). It makes the namespace %s, writes only there, and deletes "+
		"it at the end. It sends requests as fast as the API server answers them: do not run it on a cluster that others "+
		"depend on.", t.admin.Host, name, t.namespace)
}

// load reads the configuration of the selected context from kubeconfig files. If the benchmark runs in a pod, load
// never uses the pod's service account, because the user did not select the pod's cluster.
func (o Options) load() (*rest.Config, string, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = o.Kubeconfig
	rules.WarnIfAllMissing = false // the errors below report this
	raw, err := rules.Load()
	where := strings.Join(rules.GetLoadingPrecedence(), ", ")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, "", fmt.Errorf("there is no kubeconfig file %s", where)
	case err != nil:
		return nil, "", fmt.Errorf("reading the kubeconfig: %w", err)
	case len(raw.Contexts) == 0:
		return nil, "", fmt.Errorf("the kubeconfig %s has no context: name a kubeconfig that has one", where)
	}
	name, err := o.contextOf(raw, where)
	if err != nil {
		return nil, "", err
	}
	config, err := clientcmd.NewNonInteractiveClientConfig(*raw, name, &clientcmd.ConfigOverrides{}, rules).ClientConfig()
	if err != nil {
		return nil, "", fmt.Errorf("context %q in %s: %w", name, where, err)
	}
	return config, name, nil
}

func (o Options) contextOf(raw *api.Config, where string) (string, error) {
	name := o.Context
	if name == "" {
		name = raw.CurrentContext
	}
	names := strings.Join(slices.Sorted(maps.Keys(raw.Contexts)), ", ")
	switch {
	case name == "":
		return "", fmt.Errorf("the kubeconfig %s has no current context: name one of its contexts: %s", where, names)
	case raw.Contexts[name] == nil:
		return "", fmt.Errorf("there is no context %q in the kubeconfig %s: its contexts are %s", name, where, names)
	case raw.Clusters[raw.Contexts[name].Cluster] == nil:
		return "", fmt.Errorf("context %q in the kubeconfig %s refers to the cluster %q, which the file does not have", name, where, raw.Contexts[name].Cluster)
	}
	return name, nil
}
