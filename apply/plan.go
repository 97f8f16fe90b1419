package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply/internal/wire"
	"coapply.dev/fieldowners"
)

// Plan is the result of Applier.Plan: the changes that an Apply would make. It contains no values of Secrets.
type Plan struct {
	FieldManager string
	Object       ObjectRef // with the uid and resourceVersion that were read; both "" if the object does not exist
	Subresource  string

	// Action is the Action that Apply would return. It is "" if the policy or Belongs would refuse the Apply. Unlike in
	// an Outcome, Configured always means that a value or an owner would change.
	Action Action
	// Refused is the *ConflictError or *NotOursError that Apply would return, or nil.
	Refused error

	Conflicts []Conflict // the ownership conflicts, with the policy's decisions

	// Effect contains the values and owners that would change. It is empty if the Apply would write nothing.
	fieldowners.Effect
}

// Plan returns the changes that an Apply of the intent would make, and writes nothing. It takes the same steps as
// Apply, with the same policy and preconditions (uid and resourceVersion). It sends each write as a dry run (dryRun=All,
// which includes admission), and compares the response with the object. The result is valid for the resourceVersion in
// Plan.Object: other managers may write to the object before an Apply. The client must honour dry runs. The fake client
// of controller-runtime 0.25 ignores the dryRun of an apply, and writes.
//
// If the policy or Intent.Belongs would refuse the Apply, Plan returns no error, but sets Plan.Refused. For an intent
// with a Body, the response has no managed fields. The Plan then contains no owners, and the Action Unchanged means
// only that no value would change.
//
// Other errors are those of Apply. A ContendedError means that another writer changed the object during each attempt. A
// Plan is not counted in the metrics.
func (a *Applier) Plan(ctx context.Context, intent Intent) (Plan, error) {
	ctx, call := a.begin(ctx, intent)
	call.dryRun = true
	call.log = call.log.WithValues("dryRun", true)
	encoded, err := encode(intent)
	if err != nil {
		return Plan{}, err
	}
	encoded.Intent = encoded.untyped()
	call.intent, call.ref = encoded, encoded.ref
	return call.plan(ctx)
}

// untyped returns the intent with an unstructured configuration, so that the decoded response has its managed fields.
func (e *encodedIntent) untyped() Intent {
	intent, sent := e.Intent, client.ApplyConfigurationFromUnstructured(&unstructured.Unstructured{Object: e.Fields})
	if e.hasBody() {
		intent.Body = sent
	} else {
		intent.Config = sent
	}
	return intent
}

// plan reads the object, sends the intent as a dry run, and compares the two. If the resourceVersion in the response
// shows that the object has changed since the read, plan starts again.
func (c *call) plan(ctx context.Context) (plan Plan, err error) {
	log := c.log
	exhausted, err := wire.Tries(ctx, IsStaleWrite, func() (err error) {
		c.log = log
		plan, err = c.planOnce(ctx)
		return err
	})
	if exhausted {
		return Plan{}, fmt.Errorf("planning failed: the object changed between the read and the dry run in every attempt; plan again later "+
			"(if the client ignores dry runs, as controller-runtime's fake client does, the changes are writes of the plan itself): %w",
			&ContendedError{Object: c.intent.ref, Attempts: c.outcome.Attempts, Conflicts: c.outcome.Conflicts, Err: err})
	}
	return plan, err
}

func (c *call) planOnce(ctx context.Context) (Plan, error) {
	before, err := c.readLive(ctx)
	if err != nil && !errors.Is(err, errAbsent) {
		return Plan{}, c.classify(ctx, err)
	}
	landed, err := c.run(ctx)
	switch {
	case err != nil:
		return c.planWithout(before, "", err)
	case landed.action == Absent:
		return c.planWithout(before, Absent, nil)
	}
	after := landed.response.Object()
	if before == nil && after.GetResourceVersion() == neverWritten { // a dry run of a creation returns the resourceVersion that was sent
		after.SetResourceVersion("")
	}
	read := "" // the resourceVersion of the object that was read; "" also in the dry run of a creation
	if before != nil {
		read = before.GetResourceVersion()
	}
	if read != after.GetResourceVersion() {
		return Plan{}, &StaleWriteError{Object: c.intent.ref,
			Err: fmt.Errorf("the object changed between the read, at resourceVersion %q, and the dry run, at %q", read, after.GetResourceVersion())}
	}
	return c.planBy(before, after)
}

// newPlan returns a Plan with the fields that do not depend on the API server's response. before is the object that was
// read, or nil.
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

// planWithout returns the Plan for an Apply that would write nothing. The given action is Absent, or the given error is
// an ErrConflict or ErrNotOurs. Any other error is returned unchanged.
func (c *call) planWithout(before *unstructured.Unstructured, action Action, err error) (Plan, error) {
	if err != nil && !errors.Is(err, ErrConflict) && !errors.Is(err, ErrNotOurs) {
		return Plan{}, err
	}
	plan := c.newPlan(before)
	plan.Action, plan.Refused = action, err
	return plan, nil
}

// planBy computes the Plan from the object before the dry run and the object in the response to the dry run.
func (c *call) planBy(before, after *unstructured.Unstructured) (Plan, error) {
	plan := c.newPlan(before)
	var held fieldowners.Ownership
	var err error
	if before != nil {
		if held, err = c.readable(before.GetManagedFields()); err != nil {
			return Plan{}, &RefusedError{Object: c.intent.ref, Err: fmt.Errorf("reading the managed fields of the object: %w", err)}
		}
	}
	owned, err := c.readable(after.GetManagedFields())
	if err != nil {
		return Plan{}, &RefusedError{Object: c.intent.ref, Err: fmt.Errorf("reading the managed fields in the response to the dry run: %w", err)}
	}
	plan.Effect = fieldowners.EffectOf(c.owner(), before, after, held, owned)
	switch {
	case before == nil:
		plan.Action = Created
	case len(plan.Changes) == 0 && slices.EqualFunc(held.Entries(), owned.Entries(), sameEntry):
		plan.Action = Unchanged
	default:
		plan.Action = Configured
	}
	return plan, nil
}

// sameEntry reports whether two managed fields entries have the same owner and own the same fields.
func sameEntry(a, b fieldowners.Entry) bool {
	a.Time, b.Time = time.Time{}, time.Time{}
	return a.Manager == b.Manager && slices.EqualFunc(a.Fields(), b.Fields(), fieldowners.Path.Equal)
}

// String returns the result on the first line, and then the conflicts and the Effect, one field on each line.
func (p Plan) String() string {
	var text strings.Builder
	fmt.Fprintln(&text, p.title())
	if p.Refused != nil {
		fmt.Fprintln(&text, " ", wire.OneLine(p.Refused))
	}
	for i, conflict := range texts(p.Conflicts) {
		if i == 0 {
			fmt.Fprintln(&text, "conflicts:")
		}
		fmt.Fprintln(&text, " ", conflict)
	}
	return text.String() + p.Effect.String()
}

func (p Plan) title() string {
	subject := p.Object.String()
	if p.Subresource != "" {
		subject += " (" + p.Subresource + ")"
	}
	switch {
	case p.Refused != nil:
		return fmt.Sprintf("%s: an apply by %s would be refused", subject, p.FieldManager)
	case p.Action == Absent:
		return fmt.Sprintf("%s: the object does not exist, so %s cannot apply the intent", subject, p.FieldManager)
	case p.Action == "": // the zero Plan, which is returned with an error
		return strings.TrimPrefix(subject+": nothing was planned", ": ")
	}
	return fmt.Sprintf("%s: would be %s by %s", subject, strings.ToLower(string(p.Action)), p.FieldManager)
}
