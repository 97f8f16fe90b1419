package steady

import (
	"context"
	"fmt"
	"maps"
	"os"
	"reflect"
	"strconv"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/test/kit"
	"coapply.dev/test/kit/model"
)

// steadyQuestion is what a check is asked: whether applying the intent would change
// nothing of the object that was read.
type steadyQuestion struct {
	object, turn int // turns count from 0 for each object
	intent       *steadyIntent
	ask          apply.Intent
	read         client.Object
	before       *unstructured.Unstructured // the whole of it, for the oracle
	body         []byte                     // what a plain client sends
	because      *string                    // why it was not recognised, as the check logs it
}

type steadyCheck func(ctx context.Context, q steadyQuestion) (quiet bool, err error)

const (
	steadyTurns   = 20 // of one object
	steadyWorkers = 8  // each with an object of its own
)

// steadyRun asks checks about random objects and intents, and holds every answer
// against what a plain apply then does.
type steadyRun struct {
	client    client.Client
	older     client.Client // that knows older types
	us        *apply.Applier
	namespace string
	seed      uint64
	cases     int
	kinds     []steadyKind
	reads     []steadyRead // their weights are 100
	sole      bool         // nobody else writes under our name
	check     steadyCheck  // one for the whole run
	fresh     steadyCheck  // as after a restart
	count     *steadyCount
}

func newSteadyRun(t *testing.T, cases int, check, fresh steadyCheck) *steadyRun {
	t.Helper()
	c := kit.NewClient(t, steadyConfig(t))
	return &steadyRun{
		client: c, older: newOlderClient(t, steadyConfig(t)), us: kit.NewApplier(t, c, kit.OurManager, apply.Policy{}), namespace: kit.NewNamespace(t, c), seed: kit.Seed(t),
		cases: cases, kinds: steadyKinds, reads: steadyReads, check: check, fresh: fresh, count: newSteadyCount(),
	}
}

// run takes all objects through their turns. What happens to an object depends on
// the seed and its number alone; COAPPLY_OBJECT has only that one.
func (r *steadyRun) run(t *testing.T) {
	t.Helper()
	numbers := make(chan int)
	var workers sync.WaitGroup
	for range steadyWorkers {
		workers.Go(func() {
			for number := range numbers {
				if err := r.object(t.Context(), number); err != nil {
					t.Errorf("COAPPLY_SEED=%d, object %d: %v", r.seed, number, err)
				}
			}
		})
	}
	only := os.Getenv("COAPPLY_OBJECT")
	for number := range (r.cases + steadyTurns - 1) / steadyTurns {
		if (only == "" || only == strconv.Itoa(number)) && !t.Failed() {
			numbers <- number
		}
	}
	close(numbers)
	workers.Wait()
}

// object is the life of one object.
func (r *steadyRun) object(ctx context.Context, number int) error {
	o := r.newObject(number)
	if err := o.create(ctx); err != nil {
		return err
	}
	for turn := range steadyTurns {
		if err := r.turn(ctx, o, number, turn); err != nil {
			return fmt.Errorf("turn %d: %w\n  %s", turn, err, o.toldStory())
		}
	}
	return o.remove(ctx)
}

func (r *steadyRun) newObject(number int) *steadyObject {
	kind := r.kinds[number%len(r.kinds)]
	key := client.ObjectKey{Namespace: r.namespace, Name: fmt.Sprintf("steady-%s-%d", r.namespace, number)}
	if kind.cluster {
		key.Namespace = ""
	}
	return &steadyObject{Dice: model.NewDice(r.seed, uint64(number)), client: r.client, older: r.older, us: r.us, kind: kind, key: key, reads: r.reads, sole: r.sole}
}

// turn is one case.
func (r *steadyRun) turn(ctx context.Context, o *steadyObject, number, turn int) error {
	o.labels = nil
	o.prepare(ctx)
	intent, err := o.next(ctx)
	if err != nil {
		return err
	}
	read, provable, err := o.read(ctx, intent)
	if err != nil {
		return err
	}
	if err := o.refresh(ctx, intent.form); err != nil {
		return err
	}
	config, body, err := o.config(intent)
	if err != nil {
		return err
	}
	q := steadyQuestion{
		object: number, turn: turn, intent: intent, read: read, before: o.raw, body: body, because: new(string),
		ask: apply.Intent{Config: config, Subresource: intent.subresource},
	}
	c := steadyCase{kind: o.kind.forms[0].Kind, provable: provable, story: func() string { return r.tell(o, q) }}
	if c.quiet, err = r.check(ctx, q); err != nil {
		return fmt.Errorf("the check: %w", err)
	}
	if c.fresh, err = r.fresh(ctx, q); err != nil {
		return fmt.Errorf("the fresh check: %w", err)
	}
	if err := o.decide(ctx, intent, &c, q.before); err != nil {
		return err
	}
	c.situations, c.because = o.labels, *q.because
	r.count.add(c)
	return nil
}

// prepare has things happen to the object.
func (o *steadyObject) prepare(ctx context.Context) {
	if intent := o.ours(); intent.contested && o.Chance(0.7) && o.takeBack(ctx, intent) == nil {
		o.label("taken back")
	}
	for range model.Pick(o.Dice, []int{0, 1, 1, 1, 1, 2, 2}) {
		for try := 0; try < 4 && !o.happens(ctx); try++ { // not everything can happen to every object
		}
	}
	if len(o.labels) == 0 {
		o.label("nothing happened")
	}
	if o.admitted != "" {
		o.label("admission says " + o.admitted)
	}
}

// decide has the oracle say what is true, and lets the intent be the object's.
func (o *steadyObject) decide(ctx context.Context, intent *steadyIntent, c *steadyCase, before *unstructured.Unstructured) error {
	var alone *unstructured.Unstructured
	var err error
	if o.admitted != "" && (c.quiet || c.fresh) {
		if alone, err = o.emptyWrite(ctx, intent); apierrors.IsInvalid(err) {
			alone = nil // a version that cannot tell all of the object
		} else if err != nil {
			return err
		}
	}
	if c.steadyVerdict, err = o.judge(ctx, intent, before); err != nil {
		return err
	}
	if alone != nil && c.changed != "" {
		was, errWas := allOwners(before)
		is, errIs := allOwners(o.raw)
		c.admitted = errWas == nil && errIs == nil && maps.Equal(was, is) && reflect.DeepEqual(valuesOnly(alone), valuesOnly(o.raw))
	}
	conflict := c.conflict
	if c.refused || intent.passing || conflict && o.Chance(0.5) {
		return nil
	}
	intent.contested = conflict
	o.intents[intent.subresource] = intent
	return nil
}

// tell is everything about a case.
func (r *steadyRun) tell(o *steadyObject, q steadyQuestion) string {
	_, body, _ := o.config(q.intent)
	return fmt.Sprintf("COAPPLY_SEED=%d COAPPLY_OBJECT=%d, turn %d: %v\nintent (subresource %q, typed %v): %s\nread as %T\nbefore: %s\nafter:  %s\nstory:\n  %s",
		r.seed, q.object, q.turn, o.labels, q.intent.subresource, q.intent.typed, body, q.read, asJSON(q.before.Object), asJSON(o.raw.Object), o.toldStory())
}
