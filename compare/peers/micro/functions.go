package micro

import (
	"context"
	"errors"
	"fmt"

	"coapply.dev/apply"
	"coapply.dev/apply/lanes"
	"coapply.dev/compare/peers/deployment"
	"coapply.dev/compare/peers/peer"
)

// Names of what is timed.
const (
	lane         = "lane"
	withEncoding = "with the intent's encoding"
	sameVersion  = "the same at one version"
	extracted    = "Extract + DeepEqual"
	keyed        = "resourceVersion cache"
)

// functions gives what is timed: the checks by themselves, and the reconciles that need no request.
func (s *setup) functions(ctx context.Context) ([]one, error) {
	checks, err := s.checks(ctx)
	if err != nil {
		return nil, err
	}
	all := append([]one{s.lane()}, checks...)
	all = append(all, s.extract(), s.key())
	for _, p := range peer.All() {
		if !p.Silent {
			continue
		}
		reconcile, err := s.silent(ctx, p)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.Name, err)
		}
		all = append(all, one{endToEnd(p.Name), reconcile})
	}
	plain, err := s.reconciled(ctx, reconciled, "reconciled", false)
	if err != nil {
		return nil, err
	}
	pruning, err := s.reconciled(ctx, pruned, "pruned", true)
	return append(all, plain, pruning), err
}

func endToEnd(peer string) string { return "end to end: " + peer }

func (s *setup) lane() one {
	lanes := lanes.New()
	object := apply.ObjectRef{GroupVersionKind: deployment.Kind}
	object.Namespace, object.Name = s.world.Namespace, s.name
	return one{lane, func(ctx context.Context, _ int) error {
		_, leave, err := lanes.Enter(ctx, object.Key())
		if err == nil {
			leave()
		}
		return err
	}}
}

// checks are Applier.Apply with the object given: at the version of the call before, and at another one each time.
func (s *setup) checks(ctx context.Context) ([]one, error) {
	process, counter, err := s.world.Process(deployment.Workload)
	if err != nil {
		return nil, err
	}
	steady, err := apply.NewSteadyState(s.world.Cache, s.world.Schemas)
	if err != nil {
		return nil, err
	}
	applier, err := apply.New(process.Client, apply.Config{FieldManager: process.Manager, LiveReader: process.Live, Steady: steady})
	if err != nil {
		return nil, err
	}
	intent := apply.Intent{Config: deployment.Intent(s.world.Namespace, s.name, 0, deployment.Start)}
	check := func(ctx context.Context, version int) error {
		intent := intent
		intent.Read = s.versions[version]
		outcome, err := applier.Apply(ctx, intent)
		if err == nil && outcome.Action != apply.Unchanged {
			err = fmt.Errorf("it was %s", outcome.Action)
		}
		if sent := counter.Take(); err == nil && len(sent) > 0 {
			err = fmt.Errorf("it sent %v", sent)
		}
		return err
	}
	return []one{
		{sameVersion, func(ctx context.Context, _ int) error { return check(ctx, 0) }},
		{withEncoding, func(ctx context.Context, n int) error { return check(ctx, n%len(s.versions)) }},
	}, check(ctx, 0)
}

var errDiffers = errors.New("what is owned differs from what is wanted")

func (s *setup) extract() one {
	wanted := deployment.Intent(s.world.Namespace, s.name, 0, deployment.Start)
	return one{extracted, func(_ context.Context, n int) error {
		same, err := peer.Extracted(s.versions[n%len(s.versions)], deployment.Workload, wanted)
		if err == nil && !same {
			err = errDiffers
		}
		return err
	}}
}

// key is what a cache of resourceVersions costs to find out that it does not know this one: it sends then.
func (s *setup) key() one {
	known := peer.NewVersions()
	wanted := deployment.Intent(s.world.Namespace, s.name, 0, deployment.Start)
	return one{keyed, func(_ context.Context, n int) error {
		_, err := known.Knows(wanted, s.versions[n%len(s.versions)])
		return err
	}}
}

// silent gives a peer's reconcile from the cache, emission included.
func (s *setup) silent(ctx context.Context, p peer.Peer) (func(context.Context, int) error, error) {
	process, counter, err := s.world.Process(deployment.Workload)
	if err != nil {
		return nil, err
	}
	reconcile, err := p.New(process)
	if err != nil {
		return nil, err
	}
	once := func(ctx context.Context, _ int) error {
		return reconcile(ctx, deployment.Intent(s.world.Namespace, s.name, 0, deployment.Start))
	}
	for range 2 { // the first may have to learn
		counter.Take()
		if err := once(ctx, 0); err != nil {
			return nil, err
		}
	}
	if sent := counter.Take(); len(sent) > 0 {
		return nil, fmt.Errorf("it sends %v though nothing changed", sent)
	}
	return once, nil
}
