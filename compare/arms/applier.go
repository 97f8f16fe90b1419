package arms

import (
	"context"
	"fmt"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/compare"
)

// applier has one Applier for each field manager. Lanes would let nobody else read at once, so that a barrier stands
// before it.
func applier(s compare.Session) writer {
	var byManager appliers
	return func(ctx context.Context, intent compare.Intent) (compare.Receipt, error) {
		c := s.Client(intent.Manager)
		a, err := byManager.of(intent.Manager, c)
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
		})
		switch {
		case err != nil:
			return compare.Receipt{}, err
		case outcome.Action == apply.Absent:
			return compare.Receipt{}, fmt.Errorf("%v does not exist: it has no %s to write", outcome.Object, intent.Subresource)
		case outcome.Attempts == 0:
			return compare.Receipt{Skipped: true}, nil
		}
		return compare.Receipt{ResourceVersion: outcome.Object.ResourceVersion}, nil
	}
}

// appliers are those of one process, by field manager.
type appliers struct {
	mu        sync.Mutex
	byManager map[string]*apply.Applier
}

func (a *appliers) of(manager string, c client.Client) (*apply.Applier, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if known, ok := a.byManager[manager]; ok {
		return known, nil
	}
	made, err := apply.New(c, apply.Config{FieldManager: manager, LiveReader: c})
	if err != nil {
		return nil, err
	}
	if a.byManager == nil {
		a.byManager = map[string]*apply.Applier{}
	}
	a.byManager[manager] = made
	return made, nil
}
