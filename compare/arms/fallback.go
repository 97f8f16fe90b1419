package arms

import (
	"context"
	"errors"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"coapply.dev/apply/lanes"
	"coapply.dev/apply/update"
	"coapply.dev/compare"
)

// fallback has one Updater for each field manager, all with the lanes of the process. Nobody else can have read inside of
// a lane, so that a barrier between read and write stands before it.
func fallback(s compare.Session) writer {
	byManager := updaters{lanes: lanes.New()}
	return func(ctx context.Context, intent compare.Intent) (compare.Receipt, error) {
		if intent.Creates {
			return compare.Receipt{}, errors.New("update: the fallback creates nothing; leave the arm out")
		}
		u, err := byManager.of(intent.Manager, s)
		if err != nil {
			return compare.Receipt{}, err
		}
		if err := intent.Pause(ctx); err != nil {
			return compare.Receipt{}, err
		}
		do := update.Do[*unstructured.Unstructured]
		if intent.Subresource == "status" {
			do = update.Status[*unstructured.Unstructured]
		}
		result, err := do(ctx, u, named(intent), intent.Modify)
		if err != nil {
			return compare.Receipt{}, err
		}
		return compare.Receipt{ResourceVersion: result.Object.GetResourceVersion(), Skipped: !result.Changed}, nil
	}
}

// updaters are those of one process, by field manager.
type updaters struct {
	lanes     *lanes.Set
	mu        sync.Mutex
	byManager map[string]*update.Updater
}

func (u *updaters) of(manager string, s compare.Session) (*update.Updater, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if known, ok := u.byManager[manager]; ok {
		return known, nil
	}
	c := s.Client(manager)
	made, err := update.New(update.Config{FieldManager: manager, Client: c, LiveReader: c, Lanes: u.lanes})
	if err != nil {
		return nil, err
	}
	if u.byManager == nil {
		u.byManager = map[string]*update.Updater{}
	}
	u.byManager[manager] = made
	return made, nil
}
