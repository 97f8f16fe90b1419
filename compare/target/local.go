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

// localNodes are as many as workloads cordon and schedule to.
const localNodes = 2

// Local starts a control plane on this machine, with fsync as etcd has it by default, simulated nodes and the project's
// CustomResourceDefinitions; Close stops it. The first call in a user's cache builds it, which takes minutes. log gets a
// line for each step; nil for none. The context bounds the start only.
func Local(ctx context.Context, log io.Writer) (*Target, error) {
	if log == nil {
		log = io.Discard
	}
	cluster, err := localcluster.Start(ctx, localcluster.Options{Name: "compare", Nodes: localNodes, Log: log})
	if err != nil {
		return nil, err
	}
	t, err := onInstalled(ctx, cluster, log)
	if err != nil {
		return nil, errors.Join(err, cluster.Stop(context.WithoutCancel(ctx)))
	}
	t.stops = true
	return t, nil
}

func onInstalled(ctx context.Context, cluster *localcluster.Cluster, log io.Writer) (*Target, error) {
	if err := install(cluster.Config()); err != nil {
		return nil, err
	}
	return On(ctx, cluster, log)
}

// On is Local on a control plane that the caller has started, with the CustomResourceDefinitions installed. Close leaves
// it running.
func On(ctx context.Context, cluster *localcluster.Cluster, log io.Writer) (*Target, error) {
	if log == nil {
		log = io.Discard
	}
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
