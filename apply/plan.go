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

// Plan says what an Apply would do. It contains no values of Secrets.
type Plan struct {
	FieldManager string
	Object       ObjectRef // as it is; without uid if it does not exist
	Subresource  string

	// Action is what Apply would do, and "" if Apply would be refused. Unlike that of an
	// Outcome it is exact: Configured means that a value or an owner would change.
	Action Action
	// Refused is the *ConflictError or *NotOursError that Apply would return.
	Refused error

	Conflicts []Conflict           // with their decisions
	Changes   []fieldowners.Change // of values, defaults of the server included

	// Ownership says what each manager would gain and lose. The lists below have what concerns
	// this manager; a field may be in several.
	Ownership fieldowners.Difference
	Taken     []fieldowners.Moved // from other managers
	Gained    []fieldowners.Path  // which nobody loses
	Shared    []fieldowners.Owned // taken or gained, and owned by others as well
	Dropped   []Dropped           // ours until now
}

// Dropped is a field that the manager owns and the intent does not list. Change describes its
// value: if nobody else owns the field, the value goes (Exists is false) or the server's
// default replaces it.
type Dropped struct {
	fieldowners.Change

	Stays  bool                  // the value stays as it is
	Owners []fieldowners.Manager // who still owns the field
}

// Plan returns what an Apply of the intent would do, and writes nothing: it does what Apply
// does, with the policy and pins, but each write is a dry run of the server
// (dryRun=All, including admission), whose answer is compared with the object. The plan holds
// for the resourceVersion in Plan.Object: other managers may write before an Apply. The client
// has to honour dry runs: the fake client of controller-runtime 0.25 ignores them when it
// applies, and writes.
//
// If the policy or Intent.Belongs would refuse the Apply, that is no error,
// but in Plan.Refused. The answer to an intent with a Body has no managed fields: owners are left
// out of its plan, and Unchanged is about values only.
//
// Other errors are those of Apply. A ContendedError means that the object changed during every
// attempt to compare. Metrics do not count a Plan.
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

// plan compares the object with the answer to the dry run. The answer has the version to which
// the server applied; if that is not the version read, the object is read again.
func (c *call) plan(ctx context.Context, intent Intent) (plan Plan, err error) {
	log := c.log
	exhausted, err := wire.Tries(ctx, IsStaleWrite, func() (err error) {
		c.log = log
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
	if err != nil && !errors.Is(err, errAbsent) {
		return Plan{}, c.classify(ctx, err)
	}
	landed, err := c.run(ctx, intent)
	switch {
	case err != nil:
		return c.planWithout(before, "", err)
	case landed.action == Absent:
		return c.planWithout(before, Absent, nil)
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

// versionOf returns the resourceVersion; "" for no object, as in the answer to a dry run that
// would create one.
func versionOf(object *unstructured.Unstructured) string {
	if object == nil {
		return ""
	}
	return object.GetResourceVersion()
}

// newPlan returns a Plan with what is known without the server's answer.
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

// planWithout returns the Plan of an Apply of which nothing would land.
func (c *call) planWithout(before *unstructured.Unstructured, action Action, err error) (Plan, error) {
	if err != nil && !errors.Is(err, ErrConflict) && !errors.Is(err, ErrNotOurs) {
		return Plan{}, err
	}
	plan := c.newPlan(before)
	plan.Action, plan.Refused = action, err
	return plan, nil
}
