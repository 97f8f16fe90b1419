package apply

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply/internal/wire"
	"coapply.dev/fieldowners"
)

// Plan is what an Apply would do. Values of Secrets are not in it.
type Plan struct {
	FieldManager string
	Object       ObjectRef // as it is; without uid when there is none
	Subresource  string

	// Action is what Apply would do, and "" when it would be refused. Unlike that of an
	// Outcome it is exact: Configured says that a value or an owner would change.
	Action Action
	// Refused is the *ConflictError or *ShrinkError that Apply would return.
	Refused error

	// TakenBack are fields that Apply would take back first, from the owner whom the server
	// made up when managed fields were wiped; see Config.Contract. What it changes after
	// that no dry run tells: all that is below is empty then.
	TakenBack []fieldowners.Path

	Conflicts []Conflict           // with their decisions
	Changes   []fieldowners.Change // of values, defaults of the server included

	// Ownership is who would gain and lose what, ourselves and others. What it means
	// to us is told by the lists below, of which a field may be in several.
	Ownership fieldowners.Difference
	Taken     []fieldowners.Moved // from other managers
	Gained    []fieldowners.Path  // and lost by nobody
	Shared    []fieldowners.Owned // taken or gained, and owned by these as well
	Dropped   []Dropped           // ours, and no more
}

// Dropped is a field that we own and that the intent does not list. The Change is
// that of its value: one that nobody else owns goes (Exists is false) or makes
// room for the server's default.
type Dropped struct {
	fieldowners.Change

	Stays  bool                  // the value stays as it is
	Owners []fieldowners.Manager // who still owns the field
}

// String gives the field and what becomes of its value, on one line.
func (d Dropped) String() string { return d.Path.String() + ": " + d.fate() }

// Plan says what an Apply of the intent would do, and writes nothing: it goes the
// way of Apply, its policy, guard and pins included, with every write a dry run of
// the server (dryRun=All, which admission takes part in), and compares the answer
// with the object. Other managers may write between a Plan and an Apply; what is
// told holds for the resourceVersion in Plan.Object. The client has to honour dry
// runs: the fake client of controller-runtime 0.25 ignores them where it applies,
// and writes.
//
// An Apply that its policy, Config.MaxShrink or Intent.Belongs would refuse is a Plan
// that says so, not an error. Where managed fields were wiped, and Apply would take fields
// back first, the plan says which, and no more: see Plan.TakenBack. Where the intent has a Body the server does not answer with
// managed fields: who would gain or drop what is left out then, and Unchanged
// speaks of values only.
//
// Errors are otherwise those of Apply. A ContendedError says that the object
// changed under every attempt to compare. A Plan is no observation of metrics.
func (a *Applier) Plan(ctx context.Context, intent Intent) (Plan, error) {
	ctx, call := a.begin(ctx)
	call.dryRun = true
	call.log = call.log.WithValues("dryRun", true)
	encoded, err := encode(intent)
	if err != nil {
		return Plan{}, err
	}
	call.about(encoded)
	plan, err := call.plan(ctx, encoded.untyped(intent))
	if err != nil {
		return Plan{}, err
	}
	return plan, nil
}

// untyped returns the intent in the form whose answers keep their managed fields.
func (e *encodedIntent) untyped(intent Intent) Intent {
	sent := client.ApplyConfigurationFromUnstructured(&unstructured.Unstructured{Object: e.object})
	if e.hasBody() {
		intent.Body = sent
	} else {
		intent.Config = sent
	}
	return intent
}

// plan compares the object with the answer to the dry run. That answer is at the
// version that the server applied to; another one than was read is read again.
func (c *call) plan(ctx context.Context, intent Intent) (plan Plan, err error) {
	log := c.log
	exhausted, err := wire.Tries(ctx, IsStaleWrite, func() (err error) {
		c.log, c.outcome.TakenBack = log, nil
		plan, err = c.planOnce(ctx, intent)
		return err
	})
	if exhausted {
		return Plan{}, fmt.Errorf("nothing is known of what an Apply would do, as no dry run met the object as it was read (with a client that ignores dry runs, as controller-runtime's fake client does, it looks the same, and it is the plan that writes): %w",
			&ContendedError{Object: c.intent.ref, Attempts: c.outcome.Attempts, Conflicts: c.outcome.Conflicts, Err: err})
	}
	return plan, err
}

func (c *call) planOnce(ctx context.Context, intent Intent) (Plan, error) {
	before, err := c.readLive(ctx)
	if errors.Is(err, errAbsent) {
		before = nil
	} else if err != nil {
		return Plan{}, c.classify(ctx, err)
	}
	landed, err := c.run(ctx, intent)
	switch {
	case err != nil:
		return c.planWithout(before, "", err)
	case landed.action == Absent:
		return c.planWithout(before, Absent, nil)
	case c.plansToTakeBack() && c.ref.ResourceVersion != versionOf(before):
		return Plan{}, &StaleWriteError{Object: c.intent.ref, Err: errors.New("it changed between two reads")}
	case c.plansToTakeBack():
		return c.planWithout(before, landed.action, nil)
	}
	after := landed.object()
	if after == nil {
		return Plan{}, &RefusedError{Object: c.intent.ref, Err: errors.New("the answer to a dry run is no object")}
	}
	if before == nil && after.GetResourceVersion() == neverWritten { // the server leaves the pin of a creation in its answer
		after.SetResourceVersion("")
	}
	if versionOf(before) != after.GetResourceVersion() {
		return Plan{}, &StaleWriteError{Object: c.intent.ref,
			Err: fmt.Errorf("read at resourceVersion %q, applied at %q", versionOf(before), after.GetResourceVersion())}
	}
	return c.planBy(before, after)
}

// versionOf is "" for no object, as it is in the answer to the dry run that would
// create one.
func versionOf(object *unstructured.Unstructured) string {
	if object == nil {
		return ""
	}
	return object.GetResourceVersion()
}

// newPlan has what is known of the object without the server's answer.
func (c *call) newPlan(before *unstructured.Unstructured) Plan {
	plan := Plan{
		FieldManager: c.config.FieldManager, Object: c.intent.ref,
		Subresource: c.intent.Subresource, Conflicts: c.outcome.Conflicts,
	}
	plan.Object.UID = ""
	if before != nil {
		plan.Object.UID, plan.Object.ResourceVersion = before.GetUID(), before.GetResourceVersion()
	}
	return plan
}

// planWithout is for an Apply that would send nothing that lands.
func (c *call) planWithout(before *unstructured.Unstructured, action Action, err error) (Plan, error) {
	if err != nil && !errors.Is(err, ErrConflict) && !errors.Is(err, ErrShrink) && !errors.Is(err, ErrNotOurs) {
		return Plan{}, err
	}
	plan := c.newPlan(before)
	plan.Action, plan.Refused, plan.TakenBack = action, err, c.outcome.TakenBack
	return plan, nil
}
