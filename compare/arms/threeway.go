package arms

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/compare"
)

// threeWayMerge does what client-side kubectl apply does to a custom resource: what it applied last and no longer wants
// goes, what it wants is set, and no resourceVersion guards it. What was applied last is kept here and not in an
// annotation, which has room for one manager only.
func threeWayMerge(s compare.Session) writer {
	var applied lastApplied
	return func(ctx context.Context, intent compare.Intent) (compare.Receipt, error) {
		c := s.Client(intent.Manager)
		live, err := read(ctx, c, intent)
		if err != nil {
			return compare.Receipt{}, err
		}
		wanted := configured(intent, live)
		modified, err := json.Marshal(wanted)
		if err != nil {
			return compare.Receipt{}, err
		}
		if live.GetUID() == "" {
			receipt, err := put(ctx, c, intent, wanted)
			return receipt, applied.keep(intent, modified, err)
		}
		current, err := json.Marshal(live)
		if err != nil {
			return compare.Receipt{}, err
		}
		change, err := jsonmergepatch.CreateThreeWayJSONMergePatch(applied.of(intent), modified, current)
		if err != nil {
			return compare.Receipt{}, err
		}
		if string(change) == "{}" {
			return compare.Receipt{Skipped: true}, applied.keep(intent, modified, nil)
		}
		receipt, err := patch(ctx, c, intent, live, client.RawPatch(types.MergePatchType, change))
		return receipt, applied.keep(intent, modified, err)
	}
}

// lastApplied is the last configuration of each manager for each object.
type lastApplied struct{ byObjectAndManager sync.Map }

func (l *lastApplied) key(intent compare.Intent) string {
	return fmt.Sprintf("%v %s/%s %s as %s", intent.Kind, intent.Namespace, intent.Name, intent.Subresource, intent.Manager)
}

func (l *lastApplied) of(intent compare.Intent) []byte {
	kept, _ := l.byObjectAndManager.Load(l.key(intent))
	original, _ := kept.([]byte)
	return original
}

// keep remembers a configuration that landed.
func (l *lastApplied) keep(intent compare.Intent, config []byte, err error) error {
	if err == nil {
		l.byObjectAndManager.Store(l.key(intent), config)
	}
	return err
}
