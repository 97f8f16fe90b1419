package bench

import (
	"context"
	"errors"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/discovery"

	"coapply.dev/compare/results"
	"coapply.dev/compare/target"
	"coapply.dev/compare/trial"
)

// cluster is the cluster in which a run executes its trials. Tests use an implementation that executes none.
type cluster interface {
	Environment() results.Environment
	// IsLocal reports whether this is a local control plane for benchmarks only, which the run may replace.
	IsLocal() bool
	// measure runs a trial. It returns an error only if the context ended before anything was measured.
	measure(context.Context, trial.Spec) (trial.Recorded, error)
	// has reports whether the cluster serves the group of a CustomResourceDefinition.
	has(ctx context.Context, definition string) (bool, error)
	// answers returns an error if the API server does not respond.
	answers(context.Context) error
	Close(context.Context) error
}

type opener func(context.Context) (cluster, error)

func openTarget(open func(context.Context) (*target.Target, error)) opener {
	return func(ctx context.Context) (cluster, error) {
		t, err := open(ctx)
		if err != nil {
			return nil, err
		}
		return onTarget{t, &trial.Pool{}}, nil
	}
}

// onTarget is a target with a pool of processes for writers.
type onTarget struct {
	*target.Target
	pool *trial.Pool
}

func (t onTarget) measure(ctx context.Context, spec trial.Spec) (trial.Recorded, error) {
	spec.Pool = t.pool
	return trial.Run(ctx, t.Target, spec)
}

func (t onTarget) Close(ctx context.Context) error {
	return errors.Join(t.pool.Close(), t.Target.Close(ctx))
}

func (t onTarget) has(ctx context.Context, definition string) (bool, error) {
	_, group, _ := strings.Cut(definition, ".")
	err := t.get(ctx, "/apis/"+group)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}

func (t onTarget) answers(ctx context.Context) error {
	err := t.get(ctx, "/readyz")
	if apierrors.IsForbidden(err) { // this is a response, too
		return nil
	}
	return err
}

const answerTimeout = 2 * time.Second

func (t onTarget) get(ctx context.Context, path string) error {
	config := t.Admin()
	config.Timeout = answerTimeout
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return err
	}
	_, err = client.RESTClient().Get().AbsPath(path).DoRaw(ctx)
	return err
}

const closeTimeout = time.Minute

// close deletes what the run has created on the cluster, even if ctx has ended.
func (b *bench) close(ctx context.Context) error {
	if b.cluster == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	return b.cluster.Close(ctx)
}
