package target

import (
	"context"
	"errors"
	"fmt"
	"io"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"coapply.dev/config/crd"
	"coapply.dev/internal/localcluster"
)

// Local starts a control plane for a run on this machine, with simulated nodes and the project's CustomResourceDefinitions.
// etcd uses fsync. The first call takes minutes, because it downloads and builds the programs into the user's cache. log
// gets one line for each step. ctx is used only for the start. Close stops the control plane.
func Local(ctx context.Context, log io.Writer) (*Target, error) {
	// Two nodes suffice for the workloads that cordon nodes or schedule pods.
	cluster, err := localcluster.Start(ctx, localcluster.Options{Name: "compare", Nodes: 2, Log: log})
	if err != nil {
		return nil, err
	}
	var t *Target
	if err = install(cluster.Config()); err == nil {
		t, err = On(ctx, cluster, log)
	}
	if err != nil {
		return nil, errors.Join(err, cluster.Stop(context.WithoutCancel(ctx)))
	}
	t.stops = true
	return t, nil
}

// On prepares a run on a local control plane that the caller has started, and on which the
// CustomResourceDefinitions are installed. Close does not stop this control plane.
func On(ctx context.Context, cluster *localcluster.Cluster, log io.Writer) (*Target, error) {
	t, err := newTarget(cluster.Config(), log)
	if err != nil {
		return nil, err
	}
	t.cluster = cluster
	return t.opened(ctx)
}

func install(config *rest.Config) error {
	var definition apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(crd.Devboxes, &definition); err != nil {
		return fmt.Errorf("reading the CustomResourceDefinition of Devbox: %w", err)
	}
	_, err := envtest.InstallCRDs(config, envtest.CRDInstallOptions{CRDs: []*apiextensionsv1.CustomResourceDefinition{&definition}})
	if err != nil {
		return fmt.Errorf("installing the CustomResourceDefinition of Devbox: %w", err)
	}
	return nil
}
