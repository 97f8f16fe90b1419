package steady

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/openapi"
	"k8s.io/client-go/openapi/cached"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/test/kit"
)

// TestSteadyProperty asks the steady-state check of random intents for random objects,
// after others wrote to them in every way that it has to be sound under. Whenever it
// says that there is nothing to do, a plain apply of the intent must change no value
// and nobody's ownership. COAPPLY_CASES sets how many cases there are.
func TestSteadyProperty(t *testing.T) {
	t.Parallel()
	cases := kit.Cases(t, 600)
	config := steadyConfig(t)
	found, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	schemas := cached.NewClient(found.OpenAPIV3())
	c := kit.NewClient(t, config)
	run := newSteadyRun(t, cases, realCheck(t, c, schemas), freshCheck(t, c, schemas))
	run.run(t)
	run.count.report(t)
	for _, lie := range run.count.lies {
		t.Error(lie)
	}
	if t.Failed() || run.count.all.cases < 600 {
		return
	}
	missing := slices.DeleteFunc(steadySituations(), func(situation string) bool { return run.count.by[situation] != nil })
	if len(missing) > 3 || len(missing) > 0 && cases >= 3000 { // a few hundred cases may lack one
		t.Errorf("not among the cases, which prove too little: %q", missing)
	}
	share := 95
	if cases < 3000 {
		share = 80 // a single object may want what cannot be proven at each of its turns
	}
	if all := run.count.provable; all.quiet*100 < all.noops*share || all.fresh*100 < all.noops*80 {
		t.Errorf("of what is nothing to do too little is recognised: %v", &all)
	}
}

// steadySituations are all that has to occur.
func steadySituations() []string {
	all := []string{
		"nothing happened", "taken back", "the same intent", "an intent for the status", "read in another version", "a newer field",
		"admission says override", "admission says annotate", "admission says late",
	}
	for _, step := range steadySteps {
		all = append(all, step.situation)
	}
	for _, change := range steadyChanges {
		all = append(all, change.situation)
	}
	for _, read := range steadyReads {
		all = append(all, read.situation)
	}
	return all
}

// mute is a client that sends no apply, and says that it would have.
type mute struct {
	client.Client

	reads *atomic.Int64
}

var errMuted = apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("an apply would have been sent"))

func (mute) Apply(context.Context, runtime.ApplyConfiguration, ...client.ApplyOption) error {
	return errMuted
}

func (m mute) SubResource(name string) client.SubResourceClient {
	return muteSubResource{m.Client.SubResource(name)}
}

func (m mute) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	m.reads.Add(1)
	return m.Client.Get(ctx, key, object, options...)
}

type muteSubResource struct{ client.SubResourceClient }

func (muteSubResource) Apply(context.Context, runtime.ApplyConfiguration, ...client.SubResourceApplyOption) error {
	return errMuted
}

// asker asks a steady-state check, by appliers that cannot write. What an older type
// was read into is asked about by one that knows that type; they share what they know.
type asker struct {
	applier, older *apply.Applier
	reads          *atomic.Int64
}

func newAsker(c, older client.Client, schemas openapi.Client) (*asker, error) {
	a := &asker{reads: &atomic.Int64{}}
	steady, err := apply.NewSteadyState(mute{c, a.reads}, schemas)
	if err != nil {
		return nil, err
	}
	applier := func(muted mute) *apply.Applier {
		applier, newErr := apply.New(muted, apply.Config{FieldManager: kit.OurManager, LiveReader: muted, Steady: steady.ReadBy(muted)})
		err = errors.Join(err, newErr)
		return applier
	}
	a.applier, a.older = applier(mute{c, a.reads}), applier(mute{older, a.reads})
	return a, err
}

func (a *asker) quiet(ctx context.Context, q steadyQuestion) (bool, error) {
	intent := q.ask
	intent.Read = q.read
	log := funcr.New(func(_, line string) {
		if _, because, ok := strings.Cut(line, `"because"=`); ok && strings.Contains(line, "no proof") {
			*q.because = because
		}
	}, funcr.Options{Verbosity: 1})
	applier := a.applier
	if isOlder(q.read) {
		applier = a.older
	}
	outcome, err := applier.Apply(logr.NewContext(ctx, log), intent)
	switch {
	case apierrors.IsForbidden(err):
		return false, nil
	case err != nil:
		return false, err
	case outcome.Action != apply.Unchanged || outcome.Requests != 0 || outcome.Attempts != 0:
		return false, fmt.Errorf("the outcome is %+v", outcome)
	}
	return true, nil
}

// realCheck is one check for all objects. It is asked twice, which must not matter.
func realCheck(t *testing.T, c client.Client, schemas openapi.Client) steadyCheck {
	t.Helper()
	a, err := newAsker(c, newOlderClient(t, steadyConfig(t)), schemas)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if n := a.reads.Load(); n > 0 {
			t.Errorf("the check read %d objects, and all were given", n)
		}
	})
	return func(ctx context.Context, q steadyQuestion) (bool, error) {
		first, err := a.quiet(ctx, q)
		if err != nil {
			return false, err
		}
		again, err := a.quiet(ctx, q)
		if err == nil && first != again {
			err = fmt.Errorf("nothing to do: %v, and asked again: %v", first, again)
		}
		return first, err
	}
}

// freshCheck knows nothing of the object: there are as many as an object has turns.
func freshCheck(t *testing.T, c client.Client, schemas openapi.Client) steadyCheck {
	t.Helper()
	var askers []*asker
	for range steadyTurns {
		a, err := newAsker(c, newOlderClient(t, steadyConfig(t)), schemas)
		if err != nil {
			t.Fatal(err)
		}
		askers = append(askers, a)
	}
	return func(ctx context.Context, q steadyQuestion) (bool, error) { return askers[q.turn].quiet(ctx, q) }
}
