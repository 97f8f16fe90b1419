package arms

import (
	"context"
	"fmt"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/lanes"
	"coapply.dev/compare"
)

// applier returns a writer that uses coapply's Applier. There is one Applier for each field manager. All Appliers
// share the lanes and the steady-state check. The writer calls intent.Pause before it enters the lane. A call inside
// the lane would deadlock: Pause waits for all writers, and the other writers may be waiting for the lane.
func applier(s compare.Session) writer { return inLanes(s, lanes.New(), apply.Policy{}) }

// applierWith is like applier, but settles ownership conflicts by the given decision.
func applierWith(decision apply.Decision) func(compare.Session) writer {
	return func(s compare.Session) writer { return inLanes(s, lanes.New(), apply.OnConflict(decision)) }
}

// applierOfWidth is like applier, but the given number is the maximum number of concurrent writes to an object.
func applierOfWidth(width int) func(compare.Session) writer {
	return func(s compare.Session) writer { return inLanes(s, lanes.OfWidth(width), apply.Policy{}) }
}

func inLanes(s compare.Session, shared *lanes.Set, policy apply.Policy) writer {
	byManager := appliers{lanes: shared, policy: policy}
	byManager.steady, byManager.unfit = apply.NewSteadyState(s.Cache, s.Schemas)
	return func(ctx context.Context, intent compare.Intent) (compare.Receipt, error) {
		c := s.Client(intent.Manager)
		a, err := byManager.of(intent.Manager, s)
		if err != nil {
			return compare.Receipt{}, err
		}
		config, err := configure(ctx, c, intent)
		if err != nil {
			return compare.Receipt{}, err
		}
		outcome, err := a.Apply(ctx, apply.Intent{
			Config:      client.ApplyConfigurationFromUnstructured(config),
			Subresource: intent.Subresource,
			Read:        seen(ctx, s.Cache, intent),
		})
		switch {
		case err != nil && outcome.Attempts == 0: // such as after waiting too long for the lane
			return compare.Receipt{}, unsent(err)
		case err != nil:
			return compare.Receipt{}, err
		case outcome.Action == apply.Absent:
			return compare.Receipt{}, fmt.Errorf("%v does not exist, so its subresource %s cannot be written", outcome.Object, intent.Subresource)
		case outcome.Attempts == 0:
			return compare.Receipt{Skipped: true}, nil
		}
		return compare.Receipt{ResourceVersion: outcome.Object.ResourceVersion}, nil
	}
}

// recorded returns the client of the given field manager. The client's transport records responses for an Applier. A
// fake client has no transport and is returned unchanged.
func recorded(s compare.Session, manager string) (client.Client, error) {
	if s.Config == nil {
		return s.Client(manager), nil
	}
	config, c := s.Config(manager), s.Client(manager)
	config.Wrap(apply.RecordExchange)
	return client.New(config, client.Options{Scheme: c.Scheme(), Mapper: c.RESTMapper()})
}

// seen returns the intent's object from the cache, or nil if the read fails. The caller must not modify the returned object.
func seen(ctx context.Context, cache client.Reader, intent compare.Intent) client.Object {
	object := named(intent)
	if err := cache.Get(ctx, client.ObjectKeyFromObject(object), object, client.UnsafeDisableDeepCopy); err != nil {
		return nil
	}
	return object
}

// appliers are the Appliers of one process, by field manager.
type appliers struct {
	lanes  *lanes.Set
	policy apply.Policy
	steady *apply.SteadyState
	unfit  error // why steady could not be created
	made   perManager[*apply.Applier]
}

func (a *appliers) of(manager string, s compare.Session) (*apply.Applier, error) {
	if a.unfit != nil {
		return nil, a.unfit
	}
	return a.made.of(manager, func() (*apply.Applier, error) {
		c, err := recorded(s, manager)
		if err != nil {
			return nil, err
		}
		return apply.New(c, apply.Config{FieldManager: manager, LiveReader: c, Policy: a.policy, Lanes: a.lanes, Steady: a.steady})
	})
}

// perManager creates and stores one value for each field manager.
type perManager[T any] struct {
	mu    sync.Mutex
	known map[string]T
}

func (p *perManager[T]) of(manager string, create func() (T, error)) (T, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if known, ok := p.known[manager]; ok {
		return known, nil
	}
	made, err := create()
	if err == nil {
		if p.known == nil {
			p.known = map[string]T{}
		}
		p.known[manager] = made
	}
	return made, err
}
