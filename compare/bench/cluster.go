package bench

import (
	"context"
	"errors"

	"coapply.dev/compare/results"
	"coapply.dev/compare/target"
	"coapply.dev/compare/trial"
)

// cluster is the cluster in which a run executes its trials. Tests use an implementation that executes none.
type cluster interface {
	Environment() results.Environment
	// measure runs a trial. It returns an error only if the context ended before anything was measured.
	measure(context.Context, trial.Spec) (results.Trial, error)
	// Close deletes what the run has created on the cluster, even if the context has ended.
	Close(context.Context) error
}

// onTarget is a target with a pool of processes for writers.
type onTarget struct {
	*target.Target
	pool *trial.Pool
}

func (t onTarget) measure(ctx context.Context, spec trial.Spec) (results.Trial, error) {
	spec.Pool = t.pool
	recorded, err := trial.Run(ctx, t.Target, spec)
	return recorded.Trial, err
}

func (t onTarget) Close(ctx context.Context) error {
	return errors.Join(t.pool.Close(), t.Target.Close(ctx))
}
