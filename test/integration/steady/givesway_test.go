package steady

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/openapi/cached"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/test/kit"
	"coapply.dev/test/kit/model"
)

// TestSteadyGivesWay asks the check of intents that relinquish or share fields. What is
// true is what a second applier does, which has the same policy and the same history
// and sends everything: when the check says that there is nothing to do, it must
// change nothing.
func TestSteadyGivesWay(t *testing.T) {
	t.Parallel()
	config := steadyConfig(t)
	found, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	c := kit.NewClient(t, config)
	steady, err := apply.NewSteadyState(c, cached.NewClient(found.OpenAPIV3()))
	if err != nil {
		t.Fatal(err)
	}
	run := newSteadyRun(t, kit.Cases(t, 1600)/8, neverQuiet, neverQuiet)
	run.sole = true // what an applier remembers of its name would not be so
	run.kinds = slices.DeleteFunc(slices.Clone(run.kinds), func(kind steadyKind) bool {
		return len(kind.forms) > 1 // what is lost on the way to another version each of the two loses at its time
	})
	count := model.NewTally()
	var objects sync.WaitGroup
	atOnce := make(chan struct{}, steadyWorkers)
	for number := range (run.cases + steadyTurns - 1) / steadyTurns {
		atOnce <- struct{}{}
		objects.Go(func() {
			defer func() { <-atOnce }()
			decision := []apply.Decision{apply.Relinquish, apply.Share}[number%2]
			g, err := newGivingWay(c, steady, decision, count)
			if err == nil {
				err = g.live(t.Context(), run, number)
			}
			if err != nil {
				t.Errorf("COAPPLY_SEED=%d, object %d: %v", run.seed, number, err)
			}
		})
	}
	objects.Wait()
	count.Report(t)
	if !t.Failed() && run.cases >= 200 {
		count.AtLeast(t, 5, "gave way, a no-op, recognised", "gave way, and something changed")
	}
}

// givingWay is two appliers of one policy, of which one asks the check first.
type givingWay struct {
	sends, asks *apply.Applier
	muted       *atomic.Bool // the one that asks can write nothing
	count       *model.Tally
}

func newGivingWay(c client.Client, steady *apply.SteadyState, decision apply.Decision, count *model.Tally) (*givingWay, error) {
	policy := apply.OnConflict(decision)
	sends, err := apply.New(c, apply.Config{FieldManager: kit.OurManager, LiveReader: c, Policy: policy})
	if err != nil {
		return nil, err
	}
	muted := &atomic.Bool{}
	asks, err := apply.New(mutable{c, muted}, apply.Config{FieldManager: kit.OurManager, LiveReader: c, Policy: policy, Steady: steady})
	return &givingWay{sends, asks, muted, count}, err
}

// live is the life of one object.
func (g *givingWay) live(ctx context.Context, run *steadyRun, number int) error {
	o := run.newObject(number)
	if err := o.create(ctx); err != nil {
		return err
	}
	for turn := range steadyTurns {
		if err := g.turn(ctx, o); err != nil {
			return fmt.Errorf("turn %d, %v: %w\n  %s", turn, o.labels, err, o.toldStory())
		}
	}
	return o.remove(ctx)
}

func (g *givingWay) turn(ctx context.Context, o *steadyObject) error {
	o.labels = nil
	o.prepare(ctx)
	intent, err := o.next(ctx)
	if err != nil {
		return err
	}
	read, err := readTyped(ctx, o, intent.form)
	if err != nil {
		return err
	}
	if err := o.refresh(ctx, intent.form); err != nil {
		return err
	}
	before := o.raw
	config, body, err := o.config(intent)
	if err != nil {
		return err
	}
	want := apply.Intent{Config: config, Subresource: intent.subresource, Read: read}
	g.muted.Store(true)
	outcome, asked := g.asks.Apply(ctx, want)
	g.muted.Store(false)
	quiet := asked == nil && outcome.Requests == 0
	if asked != nil && !apierrors.IsForbidden(asked) {
		return asked
	}

	want.Read = nil
	settled, sent := g.sends.Apply(ctx, want)
	o.tell(fmt.Sprintf("we apply and give way: %v", settled.Conflicts), body, sent)
	if err := o.refresh(ctx, intent.form); err != nil {
		return err
	}
	changed, err := differenceOf(before, o.raw)
	if err != nil {
		return err
	}
	if sent == nil {
		o.intents[intent.subresource] = intent
	}
	if _, err := g.asks.Apply(ctx, want); (err == nil) != (sent == nil) { // it has the same history
		return fmt.Errorf("one applier says %w, the other one %w", sent, err)
	}
	return g.judge(quiet, sent, changed, settled, o.admitted)
}

func (g *givingWay) judge(quiet bool, sent error, changed string, settled apply.Outcome, admitted string) error {
	what := "gave way"
	if len(settled.Conflicts) == 0 {
		what = "whole"
	}
	switch {
	case sent != nil:
		g.count.Add("refused")
	case changed != "" && quiet && admitted == "":
		return fmt.Errorf("a false no-op: an apply changes\n%s", changed)
	case changed != "":
		g.count.Add(what + ", and something changed")
	case quiet:
		g.count.Add(what + ", a no-op, recognised")
	default:
		g.count.Add(what + ", a no-op, not recognised")
	}
	return nil
}

// mutable is a client that is mute now and then.
type mutable struct {
	client.Client

	muted *atomic.Bool
}

func (m mutable) Apply(ctx context.Context, config runtime.ApplyConfiguration, options ...client.ApplyOption) error {
	if m.muted.Load() {
		return errMuted
	}
	return m.Client.Apply(ctx, config, options...)
}

func (m mutable) SubResource(name string) client.SubResourceClient {
	if m.muted.Load() {
		return muteSubResource{m.Client.SubResource(name)}
	}
	return m.Client.SubResource(name)
}
