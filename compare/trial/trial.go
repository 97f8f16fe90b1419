package trial

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/compare"
	"coapply.dev/compare/history"
	"coapply.dev/compare/results"
)

type trial struct {
	Spec

	place   place
	process int // the number of this process, if the cell has several
	log     *log
	session *session
	run     compare.Run
	writer  compare.Writer
	cache   *cache

	children []*child         // the processes of the writers, if the cell has several
	parts    []results.Client // the counts of the children
	lost     error            // the errors of the children

	result  results.Trial
	history history.History
	gap     string
}

func newTrial(p place, spec Spec) *trial {
	now := time.Now()
	t := &trial{Spec: spec, place: p, log: newLog(now, spec.Cell.Writers)}
	t.result = results.Trial{
		ID: spec.ID, Cell: spec.Cell, Arm: spec.Arm.Name, AA: spec.AA, Block: spec.Block, Order: spec.Order, Seed: spec.Seed,
		Started: now.UTC(),
	}
	return t
}

// void makes the trial void. If there are several reasons, they are joined.
func (t *trial) void(reason error) {
	line := strings.ReplaceAll(reason.Error(), "\n", "; ") // errors.Join separates errors by line breaks
	switch {
	case t.result.Void == "":
		t.result.Void = line
	case !strings.Contains(t.result.Void, line):
		t.result.Void += "; " + line
	}
}

// Numbers of the trial's random number generators. Each generator is seeded with the trial's seed and its own number.
const (
	offsetNumbers  = iota + 1
	arrivalNumbers // of process 0; process n uses arrivalNumbers+n
)

func (t *trial) random(stream uint64) *rand.Rand { return rand.New(rand.NewPCG(t.Seed, stream)) }

func (t *trial) prepare(ctx context.Context) error {
	err := guard("workload "+t.Workload.Name, func() (err error) {
		t.run, err = t.Workload.Prepare(ctx, t.stage(t.prefix()))
		return err
	})
	if err != nil {
		return fmt.Errorf("preparing the trial's objects: %w", err)
	}
	return nil
}

func (t *trial) prefix() string { return fmt.Sprintf("%s-%d-", t.place.namespace, t.Order) }

func (t *trial) stage(prefix string) compare.Stage {
	return compare.Stage{
		Admin: t.session.admin.client, Namespace: t.place.namespace, Prefix: prefix,
		Parameters: t.Cell.Parameters, Arm: t.Arm.Name,
		Note: t.log.note, Cache: t.reader,
	}
}

// startArm makes the writer of the arm. If an arm of the cell or the workload needs a cache, it starts the cache first.
func (t *trial) startArm(ctx context.Context) error {
	if t.Cached || t.Arm.Cached || t.Workload.SharedCache {
		var err error
		if t.cache, err = startCache(ctx, t.session, t.place.namespace, t.run.Kinds(), t.Workload.SharedCache); err != nil {
			return err
		}
	}
	err := guard("arm "+t.Arm.Name, func() (err error) {
		t.writer, err = t.Arm.New(t.session.arms(t.reader()))
		return err
	})
	if err != nil {
		return fmt.Errorf("starting arm %s: %w", t.Arm.Name, err)
	}
	return nil
}

func (t *trial) endCache() {
	if t.cache != nil {
		t.cache.stop()
	}
}

// reader returns the reader of the cache, or nil if the trial has no cache.
func (t *trial) reader() client.Reader {
	if t.cache == nil {
		return nil
	}
	return t.cache.reader
}

// settle reads the final state of the objects, waits until the watches have seen it, and parses the events of the watches.
func (t *trial) settle(ctx context.Context, w *watches) error {
	defer w.stop()
	size := &sizes{}
	for _, one := range w.all {
		list, err := one.list(ctx)
		if err != nil {
			return fmt.Errorf("checking whether the watches are complete: %w", err)
		}
		last, err := size.add(one, list.Items, t.fields)
		if err != nil {
			return err
		}
		if err := one.await(ctx, max(last, t.log.acknowledged(one.kind.Kind))); err != nil {
			return err
		}
	}
	w.stop()
	t.result.Server.ObjectBytes, t.result.Server.ManagedFieldsBytes = size.mean()
	seen, initial, err := w.read(t.fields)
	if err != nil {
		return err
	}
	t.history.Versions, t.result.Server.Revisions = seen, len(seen)-initial
	return nil
}

func (t *trial) fields(object *unstructured.Unstructured) (fields map[string]string, err error) {
	err = guard("workload "+t.Workload.Name, func() error {
		fields = t.run.Fields(object)
		return nil
	})
	return fields, err
}

func (t *trial) finish(ctx context.Context) error {
	err := guard("workload "+t.Workload.Name, func() error {
		extra, err := t.run.Finish(ctx)
		t.result.Extra = extra
		return err
	})
	if err != nil {
		return fmt.Errorf("collecting the extra results of the workload: %w", err)
	}
	return nil
}

// clean deletes the trial's objects, even if ctx has ended.
func (t *trial) clean(ctx context.Context) error {
	if t.run == nil {
		return nil
	}
	err := bounded(context.WithoutCancel(ctx), cleanBound, func(ctx context.Context) error {
		return guard("workload "+t.Workload.Name, func() error { return t.run.Clean(ctx) })
	})
	if err != nil {
		return fmt.Errorf("deleting the trial's objects: %w", err)
	}
	return nil
}
