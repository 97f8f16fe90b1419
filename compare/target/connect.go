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

// ErrDeclined is what Connect returns when the user does not want the benchmark on that cluster.
var ErrDeclined = errors.New("declined: nothing was written")

// Options say which cluster of the user's to run on.
type Options struct {
	// Kubeconfig is a file; "" is $KUBECONFIG or ~/.kube/config.
	Kubeconfig string
	// Context in it; "" is the current one.
	Context string
	// Log gets a line for each step; nil for none.
	Log io.Writer
}

// Connect makes a namespace and a service account on a cluster of the user's, once confirm has said yes to what is to be
// done; a nil confirm says no. What the user's own rights do not suffice for is found before anything is asked or
// written. What exists on the cluster is never touched, and CustomResourceDefinitions are not installed.
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
		return nil, fmt.Errorf("context %q: no answer from %s: %w", name, config.Host, err)
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

// load reads kubeconfig files only: the service account of a pod that this may run in is never what the user means.
func (o Options) load() (*rest.Config, string, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = o.Kubeconfig
	rules.WarnIfAllMissing = false // the errors below say it
	raw, err := rules.Load()
	where := strings.Join(rules.GetLoadingPrecedence(), ", ")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, "", fmt.Errorf("there is no kubeconfig %s", where)
	case err != nil:
		return nil, "", fmt.Errorf("reading the kubeconfig: %w", err)
	case len(raw.Contexts) == 0:
		return nil, "", fmt.Errorf("no context in %s: name a kubeconfig that has one", where)
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
		return "", fmt.Errorf("%s has no current context: name one of %s", where, names)
	case raw.Contexts[name] == nil:
		return "", fmt.Errorf("there is no context %q in %s: there are %s", name, where, names)
	case raw.Clusters[raw.Contexts[name].Cluster] == nil:
		return "", fmt.Errorf("context %q in %s names the cluster %q, which is not there", name, where, raw.Contexts[name].Cluster)
	}
	return name, nil
}
