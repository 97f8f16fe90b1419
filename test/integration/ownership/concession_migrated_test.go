package ownership

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"coapply.dev/apply"
	"coapply.dev/apply/ownership"
	"coapply.dev/test/kit"
)

// TestMigratedWhatGaveWay: a field that we gave way in comes to be ours, and no apply drops
// it: neither where we have migrated it, nor where another process did and we read the object.
func TestMigratedWhatGaveWay(t *testing.T) {
	t.Parallel()
	plain := kit.NewClient(t, kit.RecordedConfig(t))
	namespace := kit.NewNamespace(t, plain)
	for name, test := range map[string]struct {
		intent apply.Intent
		itself bool // migrates
	}{
		"itself":                           {itself: true},
		"another process, what belongs":    {intent: apply.Intent{Belongs: kit.BelongsAlways}},
		"another process, what must exist": {intent: apply.Intent{MustExist: true}},
		"itself, what belongs":             {intent: apply.Intent{Belongs: kit.BelongsAlways}, itself: true},
	} {
		t.Run(name, func(t *testing.T) {
			object := strings.NewReplacer(" ", "-", ",", "").Replace(name)
			var seen []int64
			watching, err := client.NewWithWatch(kit.RecordedConfig(t), client.Options{Scheme: kit.Scheme})
			if err != nil {
				t.Fatal(err)
			}
			c := interceptor.NewClient(watching, interceptor.Funcs{
				Apply: func(ctx context.Context, c client.WithWatch, o runtime.ApplyConfiguration, options ...client.ApplyOption) error {
					err := c.Apply(ctx, o, options...)
					seen = append(seen, kit.LiveReplicas(t, plain, namespace, object))
					return err
				}})
			newUs := func() *apply.Applier {
				us, err := apply.New(c, apply.Config{FieldManager: "us", LiveReader: c, Policy: apply.OnConflict(apply.Relinquish)})
				if err != nil {
					t.Fatal(err)
				}
				return us
			}
			us, another := newUs(), newUs()
			config := kit.Deployment(object, namespace, "v1")
			if err := plain.Apply(t.Context(), config, client.FieldOwner("us")); err != nil {
				t.Fatal(err)
			}
			if err := plain.Apply(t.Context(), kit.Replicas(object, namespace, 50), client.FieldOwner("hpa"), client.ForceOwnership); err != nil {
				t.Fatal(err)
			}
			wanted := kit.Deployment(object, namespace, "v1")
			wanted.Spec.WithReplicas(3)
			test.intent.Config = wanted
			for range 2 {
				outcome, err := us.Apply(t.Context(), test.intent)
				if err != nil || len(outcome.Conflicts) != 1 {
					t.Fatalf("%+v, %v", outcome, err)
				}
			}
			who := another
			if test.itself {
				who = us
			}
			transfer, err := ownership.Rename(t.Context(), who, kit.DeploymentRef(namespace, object), ownership.From{Manager: "hpa"})
			if err == nil {
				_, err = transfer.Do(t.Context())
			}
			if err != nil {
				t.Fatal(err)
			}
			seen = nil
			if outcome, err := us.Apply(t.Context(), test.intent); err != nil || len(outcome.Conflicts) > 0 {
				t.Errorf("%+v, %v", outcome, err)
			}
			if fmt.Sprint(seen) != "[3]" {
				t.Errorf("replicas went from 50 to %v, want 3 at once", seen)
			}
		})
	}
}
