package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	versioninfo "k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/platform/api/v1alpha1"
)

// checkTimeout is the time limit of checkCluster, which runs before the manager starts, and of unreachable, which runs
// after the manager has failed.
const checkTimeout = 10 * time.Second

// checkCluster checks, before the manager starts, that the API server responds, that it serves the platform's kinds, and that the manager
// may write the Lease of the leader election. Without these checks, the manager would wait forever, or fail later with an unclear
// message. If leaseNamespace is "", leader election is off and the Lease is not checked.
func checkCluster(ctx context.Context, config *rest.Config, scheme *runtime.Scheme, leaseNamespace string) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	server, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return fmt.Errorf("reading the kubeconfig: %w", err)
	}
	if err := checkReachable(ctx, server, config.Host); err != nil {
		return err
	}
	if err := checkServed(ctx, server, scheme); err != nil {
		return err
	}
	if leaseNamespace == "" {
		return nil
	}
	return checkLease(ctx, config, leaseNamespace)
}

func checkReachable(ctx context.Context, server *discovery.DiscoveryClient, host string) error {
	body, err := server.RESTClient().Get().AbsPath("/version").Do(ctx).Raw()
	if apierrors.IsUnauthorized(err) {
		return fmt.Errorf("the API server at %s does not accept the credentials; check --kubeconfig", host)
	}
	if err != nil && !apierrors.IsForbidden(err) { // a 403 shows that the API server is reachable
		if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) {
			err = wrapped.Err // the message already has the host of the URL
		}
		return fmt.Errorf("cannot reach the API server at %s: %w; check --kubeconfig", host, err)
	}
	var info versioninfo.Info
	if err == nil && (json.Unmarshal(body, &info) != nil || info.GitVersion == "") {
		return fmt.Errorf("the server at %s is not a Kubernetes API server; check --kubeconfig", host)
	}
	return nil
}

// unreachable returns the reason why the API server cannot be used, as text to append to an error of the manager such
// as "leader election lost". It returns "" if the API server responds and accepts the credentials.
func unreachable(ctx context.Context, config *rest.Config) string {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	server, err := discovery.NewDiscoveryClientForConfig(config)
	if err == nil {
		err = checkReachable(ctx, server, config.Host)
	}
	if err != nil {
		return ": " + err.Error()
	}
	return ""
}

// checkServed returns an error if the API server does not serve one of the platform's kinds.
func checkServed(ctx context.Context, server *discovery.DiscoveryClient, scheme *runtime.Scheme) error {
	gv := v1alpha1.SchemeGroupVersion
	served, err := server.ServerResourcesForGroupVersionWithContext(ctx, gv.String())
	if apierrors.IsNotFound(err) {
		served, err = &metav1.APIResourceList{}, nil
	}
	if err != nil {
		return fmt.Errorf("getting the kinds of %s from the API server: %w", gv, err)
	}
	for _, kind := range ourKinds(scheme) {
		if !slices.ContainsFunc(served.APIResources, func(r metav1.APIResource) bool { return r.Kind == kind }) {
			return fmt.Errorf("the API server does not serve %s of %s; install the CRDs with: kubectl apply -k config/crd", kind, gv)
		}
	}
	return nil
}

// ourKinds returns the platform's kinds in the scheme, such as Devbox, sorted by name. It leaves
// out lists (DevboxList) and options (GetOptions).
func ourKinds(scheme *runtime.Scheme) []string {
	var kinds []string
	for kind := range scheme.KnownTypes(v1alpha1.SchemeGroupVersion) {
		object, err := scheme.New(v1alpha1.SchemeGroupVersion.WithKind(kind))
		if _, ok := object.(client.Object); ok && err == nil {
			kinds = append(kinds, kind)
		}
	}
	slices.Sort(kinds)
	return kinds
}

// checkLease checks that the manager may read and write the Lease of the leader election. It gets the Lease, and then
// makes a dry run of a create or an update. Leader election itself would only log a rejected request and retry.
func checkLease(ctx context.Context, config *rest.Config, namespace string) error {
	coordination, err := coordinationclient.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("reading the kubeconfig: %w", err)
	}
	leases, dryRun := coordination.Leases(namespace), []string{metav1.DryRunAll}
	lease, err := leases.Get(ctx, leaderElectionID, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		lease = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: leaderElectionID}}
		_, err = leases.Create(ctx, lease, metav1.CreateOptions{DryRun: dryRun})
	case err == nil:
		_, err = leases.Update(ctx, lease, metav1.UpdateOptions{DryRun: dryRun})
	}
	switch {
	case err == nil, apierrors.IsConflict(err), apierrors.IsAlreadyExists(err): // another replica wrote the Lease in between
		return nil
	case apierrors.IsNotFound(err):
		return fmt.Errorf("--leader-elect-namespace: there is no namespace %s for the Lease; create the namespace, or set the flag to another namespace", namespace)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("leader election: checking access to the Lease: %w; config/rbac has the Role that grants the access", err)
	}
	return fmt.Errorf("leader election: checking access to the Lease: %w", err)
}

// loadConfig returns the client configuration in the kubeconfig file. If file is "", it uses the first
// of these that exists: $KUBECONFIG, ~/.kube/config, the service account of the pod.
func loadConfig(file string) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = file
	rules.WarnIfAllMissing = false // the errors below report a missing file
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{}).ClientConfig()
	switch {
	case errors.Is(err, fs.ErrNotExist) && file != "":
		return nil, fmt.Errorf("--kubeconfig: there is no file %s", file)
	case clientcmd.IsEmptyConfig(err) && file != "":
		return nil, fmt.Errorf("--kubeconfig: the file %s names no cluster", file)
	case clientcmd.IsEmptyConfig(err):
		return nil, errors.New("no kubeconfig found: give --kubeconfig, set KUBECONFIG or run in a pod")
	case err != nil:
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	config.UserAgent = "coapply-manager/" + version()
	config.QPS = -1 // no client-side rate limit: the API server's priority and fairness limits requests
	config.Wrap(apply.RecordExchange)
	return config, nil
}

// podNamespaceFile is the path of the file with the namespace of the pod. The file exists in every pod that has a service account.
const podNamespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// leaseNamespace returns the namespace of the Lease of the leader election: the value of
// --leader-elect-namespace, or else the namespace of the manager's pod.
func (o *options) leaseNamespace() (string, error) {
	if o.leaderElectNamespace != "" {
		return o.leaderElectNamespace, nil
	}
	namespace, err := os.ReadFile(podNamespaceFile)
	if errors.Is(err, fs.ErrNotExist) {
		return "", usagef("outside a cluster, --leader-elect requires the namespace of the Lease; set --leader-elect-namespace, or set --leader-elect=false")
	}
	if err != nil {
		return "", fmt.Errorf("reading the pod's namespace: %w", err)
	}
	return strings.TrimSpace(string(namespace)), nil
}
