package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"coapply.dev/apply"
)

// loadConfig returns the client configuration of the cluster: from the file if one is named,
// $KUBECONFIG, ~/.kube/config, or the pod's service account.
func loadConfig(file string) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = file
	rules.WarnIfAllMissing = false // the error below has it
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{}).ClientConfig()
	switch {
	case errors.Is(err, fs.ErrNotExist) && file != "":
		return nil, fmt.Errorf("--kubeconfig: there is no file %s", file)
	case clientcmd.IsEmptyConfig(err) && file != "":
		return nil, fmt.Errorf("--kubeconfig: %s names no cluster", file)
	case clientcmd.IsEmptyConfig(err):
		return nil, errors.New("no kubeconfig found: give --kubeconfig, set KUBECONFIG or run in a pod")
	case err != nil:
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	config.UserAgent = "coapply-manager/" + version()
	config.QPS = -1 // the API server's priority and fairness decides, not the client
	config.Wrap(apply.RecordExchange)
	return config, nil
}

// podNamespaceFile exists in every pod that has a service account.
const podNamespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// leaseNamespace returns the namespace of the leader election's Lease: that of the flag, or the
// pod's.
func (o *options) leaseNamespace() (string, error) {
	if o.leaderElectNamespace != "" {
		return o.leaderElectNamespace, nil
	}
	namespace, err := os.ReadFile(podNamespaceFile)
	if errors.Is(err, fs.ErrNotExist) {
		return "", usagef("outside a cluster --leader-elect needs --leader-elect-namespace (or give --leader-elect=false)")
	}
	if err != nil {
		return "", fmt.Errorf("finding the pod's namespace: %w", err)
	}
	return strings.TrimSpace(string(namespace)), nil
}
