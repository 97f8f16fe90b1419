// Package arms has the peers that write to any kind as arms of compare, to stand in a cell beside those that come with it.
package arms

import (
	"context"
	"fmt"
	"maps"
	"math"
	"time"

	"github.com/fluxcd/pkg/ssa"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/lanes"
	"coapply.dev/apply/update"
	"coapply.dev/compare"
	"coapply.dev/compare/arms"
)

// All gives the arms.
func All() []compare.Arm {
	all := []compare.Arm{
		{Name: LanesOnly, Summary: "coapply's Applier with lanes, without the steady-state check", New: made(adaptive)},
		{Name: UpdateDo, Summary: "coapply's update.Do, in lanes", New: made(updateDo)},
		{Name: RetryForever, Summary: "get-modify-update in client-go's RetryOnConflict: DefaultRetry without an end", New: made(gmuForever)},
		{Name: "flux-ssa", Summary: "fluxcd/pkg/ssa: GET, dry run, compare, apply if they differ", New: made(flux)},
	}
	for _, width := range Widths {
		all = append(all, compare.Arm{
			Name: OfWidth(width), Summary: fmt.Sprintf("as %s, with %d writes under way at most, whatever the network costs", LanesOnly, width),
			New: made(func(s compare.Session) writer { return inLanes(s, lanes.OfWidth(width)) }),
		})
	}
	return all
}

// Widths are those of lanes that an arm has for a comparison.
var Widths = []int{1, 2, 3, 4, 8}

// OfWidth names the arm with lanes of a fixed width.
func OfWidth(width int) string { return fmt.Sprintf("%s-%d", LanesOnly, width) }

// Names of arms that the measures use.
const (
	LanesOnly    = "lanes"
	UpdateDo     = "update-do"
	RetryForever = "gmu-forever"
)

type writer func(context.Context, compare.Intent) (compare.Receipt, error)

// Write implements compare.Writer.
func (w writer) Write(ctx context.Context, intent compare.Intent) (compare.Receipt, error) {
	if intent.ReadsLive || intent.Creates || intent.Subresource != "" {
		return compare.Receipt{}, fmt.Errorf("this arm writes what is wanted to objects that exist: leave it out here")
	}
	if intent.Pause != nil {
		if err := intent.Pause(ctx); err != nil {
			return compare.Receipt{}, err
		}
	}
	return w(ctx, intent)
}

func made(arm func(compare.Session) writer) func(compare.Session) (compare.Writer, error) {
	return func(s compare.Session) (compare.Writer, error) { return arm(s), nil }
}

func named(intent compare.Intent) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(intent.Kind)
	object.SetNamespace(intent.Namespace)
	object.SetName(intent.Name)
	return object
}

// configured is the intent as an apply configuration.
func configured(intent compare.Intent) *unstructured.Unstructured {
	object := named(intent)
	metadata, _ := object.Object["metadata"].(map[string]any)
	for field, value := range intent.Configure(nil) {
		if wanted, ok := value.(map[string]any); ok && field == "metadata" {
			maps.Copy(metadata, wanted)
			continue
		}
		object.Object[field] = value
	}
	return object
}

func adaptive(s compare.Session) writer { return inLanes(s, lanes.New()) }

// inLanes is the Applier of each field manager, with one set of lanes for all of them.
func inLanes(s compare.Session, shared *lanes.Set) writer {
	var appliers perManager[*apply.Applier]
	return func(ctx context.Context, intent compare.Intent) (compare.Receipt, error) {
		a, err := appliers.of(intent.Manager, func() (*apply.Applier, error) {
			c, err := arms.Recorded(s, intent.Manager)
			if err != nil {
				return nil, err
			}
			return apply.New(c, apply.Config{FieldManager: intent.Manager, LiveReader: c, Lanes: shared})
		})
		if err != nil {
			return compare.Receipt{}, err
		}
		outcome, err := a.Apply(ctx, apply.Intent{Config: client.ApplyConfigurationFromUnstructured(configured(intent))})
		if err != nil {
			return compare.Receipt{}, err
		}
		return compare.Receipt{ResourceVersion: outcome.Object.ResourceVersion}, nil
	}
}

// updateDo is the Updater of each field manager, with one set of lanes for all of them.
func updateDo(s compare.Session) writer {
	var updaters perManager[*update.Updater]
	shared := lanes.New()
	return func(ctx context.Context, intent compare.Intent) (compare.Receipt, error) {
		u, err := updaters.of(intent.Manager, func() (*update.Updater, error) {
			c := s.Client(intent.Manager)
			return update.New(update.Config{FieldManager: intent.Manager, Client: c, LiveReader: c, Lanes: shared})
		})
		if err != nil {
			return compare.Receipt{}, err
		}
		result, err := update.Do(ctx, u, named(intent), intent.Modify)
		if err != nil {
			return compare.Receipt{}, err
		}
		return compare.Receipt{ResourceVersion: result.Object.GetResourceVersion()}, nil
	}
}

// gmuForever is what people make of DefaultRetry when it gives up too early.
func gmuForever(s compare.Session) writer {
	forever := wait.Backoff{Steps: math.MaxInt, Duration: 10 * time.Millisecond, Factor: 1.0, Jitter: 0.1}
	return func(ctx context.Context, intent compare.Intent) (compare.Receipt, error) {
		c := s.Client(intent.Manager)
		object := named(intent)
		err := retry.RetryOnConflict(forever, func() error {
			if err := c.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
				return err
			}
			if err := intent.Modify(object); err != nil {
				return err
			}
			return c.Update(ctx, object, client.FieldOwner(intent.Manager))
		})
		return compare.Receipt{ResourceVersion: object.GetResourceVersion()}, err
	}
}

// flux has one ResourceManager for each field manager. It applies what it is given as a copy.
func flux(s compare.Session) writer {
	var managers perManager[*ssa.ResourceManager]
	return func(ctx context.Context, intent compare.Intent) (compare.Receipt, error) {
		m, err := managers.of(intent.Manager, func() (*ssa.ResourceManager, error) {
			owner := ssa.Owner{Field: intent.Manager, Group: "peers.coapply.dev"}
			return ssa.NewResourceManager(s.Client(intent.Manager), nil, owner), nil
		})
		if err != nil {
			return compare.Receipt{}, err
		}
		entry, err := m.Apply(ctx, configured(intent), ssa.DefaultApplyOptions())
		if err != nil {
			return compare.Receipt{}, err
		}
		return compare.Receipt{Skipped: entry.Action == ssa.UnchangedAction}, nil
	}
}
