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
	"coapply.dev/compare"
)

// All gives the arms.
func All() []compare.Arm {
	return []compare.Arm{
		{Name: LanesOnly, Summary: "coapply's Applier with lanes, without the steady-state check", New: made(inLanes)},
		{Name: RetryForever, Summary: "get-modify-update in client-go's RetryOnConflict: DefaultRetry without an end", New: made(gmuForever)},
		{Name: "flux-ssa", Summary: "fluxcd/pkg/ssa: GET, dry run, compare, apply if they differ", New: made(flux)},
	}
}

// Names of arms that the measures use.
const (
	LanesOnly    = "lanes"
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

// inLanes is the Applier of each field manager, with one set of lanes for all of them.
func inLanes(s compare.Session) writer {
	var appliers perManager[*apply.Applier]
	shared := lanes.New()
	return func(ctx context.Context, intent compare.Intent) (compare.Receipt, error) {
		a, err := appliers.of(intent.Manager, func() (*apply.Applier, error) {
			c := s.Client(intent.Manager)
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
