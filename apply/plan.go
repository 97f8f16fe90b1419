package apply

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply/internal/wire"
	"coapply.dev/fieldowners"
)

// Plan is the result of Applier.Plan: what an Apply would do. It contains no values of Secrets.
type Plan struct {
	FieldManager string
	Object       ObjectRef // at the resourceVersion read; without uid if the object does not exist
	Subresource  string

	// Action is what Apply would do, and "" if Apply would be refused. Unlike Outcome.Action it is
	// exact: Configured means that a value or an owner would change.
	Action Action
	// Refused is the *ConflictError or *NotOursError that Apply would return.
	Refused error

	Conflicts []Conflict           // the ownership conflicts, with their decisions
	Changes   []fieldowners.Change // the changes of values, including defaults of the API server

	// Ownership has the fields that each manager would gain and lose. The lists below have the fields
	// of this field manager; a field may be in several lists.
	Ownership fieldowners.Difference
	Taken     []fieldowners.Moved // fields that this field manager would take from other managers
	Gained    []fieldowners.Path  // fields that this field manager would own newly, without taking them
	Shared    []fieldowners.Owned // taken or gained fields that others would own too, with each such owner
	Dropped   []Dropped           // fields that this field manager would give up
}

// Dropped is a field that the field manager owns and the intent does not list. Change has the
// field's values before and after the apply. If no other manager owns the field, its value is
// removed (Exists is false), or the API server's default replaces the value.
type Dropped struct {
	fieldowners.Change

	Stays  bool                  // the value would not change
	Owners []fieldowners.Manager // the managers that would still own the field
}

// Plan returns what an Apply of the intent would do, and writes nothing. It takes the same steps as
// Apply, with the policy and pins, but each write is a dry run of the API server (dryRun=All,
// including admission). Plan compares the response with the object. The plan holds for the
// resourceVersion in Plan.Object: other managers may write before an Apply. The client must honour
// dry runs: the fake client of controller-runtime 0.25 ignores them for an apply, and writes.
//
// If the policy or Intent.Belongs would refuse the Apply, Plan returns no error, but sets
// Plan.Refused. The response for an intent with a Body has no managed fields: its plan has no
// owners, and Unchanged is about values only.
//
// Other errors are those of Apply. A ContendedError means that the object changed during each
// attempt. Metrics do not count a Plan.
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

// untyped returns the intent with an unstructured configuration. A response that is decoded into it
// keeps its managed fields.
func (e *encodedIntent) untyped(intent Intent) Intent {
	sent := client.ApplyConfigurationFromUnstructured(&unstructured.Unstructured{Object: e.object})
	if e.hasBody() {
		intent.Body = sent
	} else {
		intent.Config = sent
	}
	return intent
}

// plan compares the object, as read, with the response to a dry run. If the dry run was at another
// resourceVersion than the read, plan reads the object again.
func (c *call) plan(ctx context.Context, intent Intent) (plan Plan, err error) {
	log := c.log
	exhausted, err := wire.Tries(ctx, IsStaleWrite, func() (err error) {
		c.log = log
		plan, err = c.planOnce(ctx, intent)
		return err
	})
	if exhausted {
		return Plan{}, fmt.Errorf("planning failed: the object changed between the read and the dry run, in every attempt; plan again later "+
			"(if the client ignores dry runs, as controller-runtime's fake client does, the changes are writes of the plan itself): %w",
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
		return Plan{}, &RefusedError{Object: c.intent.ref, Err: errors.New("decoding the API server's response to the dry run: the response is not an object")}
	}
	if before == nil && after.GetResourceVersion() == neverWritten { // the resourceVersion that the apply sent
		after.SetResourceVersion("")
	}
	if versionOf(before) != after.GetResourceVersion() {
		return Plan{}, &StaleWriteError{Object: c.intent.ref,
			Err: fmt.Errorf("the object was read at resourceVersion %q, and the dry run was at %q", versionOf(before), after.GetResourceVersion())}
	}
	return c.planBy(before, after)
}

// versionOf returns the resourceVersion of an object, and "" for nil. The response to a dry run
// that would create an object has the resourceVersion "", too.
func versionOf(object *unstructured.Unstructured) string {
	if object == nil {
		return ""
	}
	return object.GetResourceVersion()
}

// newPlan returns a Plan with the parts that do not depend on the API server's response.
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

// planWithout returns the Plan for an Apply that would write nothing, because of action or err.
func (c *call) planWithout(before *unstructured.Unstructured, action Action, err error) (Plan, error) {
	if err != nil && !errors.Is(err, ErrConflict) && !errors.Is(err, ErrNotOurs) {
		return Plan{}, err
	}
	plan := c.newPlan(before)
	plan.Action, plan.Refused = action, err
	return plan, nil
}

// planBy computes the Plan from the object before the dry run and the response to the dry run.
func (c *call) planBy(before, after *unstructured.Unstructured) (Plan, error) {
	plan := c.newPlan(before)
	var held fieldowners.Ownership
	if before == nil {
		before = &unstructured.Unstructured{}
	} else {
		var err error
		if held, err = c.readable(before.GetManagedFields()); err != nil {
			return Plan{}, &RefusedError{Object: c.intent.ref, Err: fmt.Errorf("reading the managed fields of the object: %w", err)}
		}
	}
	owned, err := c.readable(after.GetManagedFields())
	if err != nil {
		return Plan{}, &RefusedError{Object: c.intent.ref, Err: fmt.Errorf("reading the managed fields in the response to the dry run: %w", err)}
	}
	plan.Changes = fieldowners.Changes(values(before), values(after), held, owned)
	plan.Ownership = fieldowners.Diff(held, owned)
	c.tellOurs(&plan, owned, before, after)
	switch {
	case before.Object == nil:
		plan.Action = Created
	case len(plan.Changes) == 0 && slices.EqualFunc(held.Entries(), owned.Entries(), sameEntry):
		plan.Action = Unchanged
	default:
		plan.Action = Configured
	}
	if isSecret(c.ref) {
		plan.hide()
	}
	return plan, nil
}

// tellOurs sets the lists of a Plan with the fields that this field manager would gain and lose.
func (c *call) tellOurs(plan *Plan, owned fieldowners.Ownership, before, after *unstructured.Unstructured) {
	var got []fieldowners.Path
	for _, moved := range plan.Ownership.Moved {
		if c.isOurs(moved.To) {
			plan.Taken = append(plan.Taken, moved)
			got = append(got, moved.Path)
		}
	}
	for _, gained := range plan.Ownership.Gained {
		if c.isOurs(gained.Manager) {
			plan.Gained = append(plan.Gained, gained.Path)
			got = append(got, gained.Path)
		}
	}
	slices.SortFunc(got, fieldowners.Path.Compare)
	for _, path := range slices.CompactFunc(got, fieldowners.Path.Equal) {
		for _, other := range c.others(owned, path) {
			plan.Shared = append(plan.Shared, fieldowners.Owned{Path: path, Manager: other})
		}
	}
	for _, lost := range plan.Ownership.Lost {
		if c.isOurs(lost.Manager) {
			plan.Dropped = append(plan.Dropped, drop(lost.Path, before, after, c.others(owned, lost.Path)))
		}
	}
}

func drop(path fieldowners.Path, before, after *unstructured.Unstructured, owners []fieldowners.Manager) Dropped {
	dropped := Dropped{Change: fieldowners.Change{Path: path}, Owners: owners}
	dropped.Before, dropped.Existed = path.Value(before.Object)
	dropped.After, dropped.Exists = path.Value(after.Object)
	dropped.Stays = dropped.Existed == dropped.Exists && reflect.DeepEqual(dropped.Before, dropped.After)
	return dropped
}

func (c *call) others(owned fieldowners.Ownership, path fieldowners.Path) []fieldowners.Manager {
	return slices.DeleteFunc(owned.OwnersOf(path), c.isOurs)
}

// hide removes the values of a Secret from a Plan. Its conflicts already have no values.
func (p *Plan) hide() {
	hideChange := func(change *fieldowners.Change) {
		if change.Existed {
			change.Before = fieldowners.Hidden
		}
		if change.Exists {
			change.After = fieldowners.Hidden
		}
	}
	for i := range p.Changes {
		hideChange(&p.Changes[i])
	}
	for i := range p.Dropped {
		hideChange(&p.Dropped[i].Change)
	}
}

// values returns the content of an object without its name and the metadata that the API server
// maintains. It returns nil if there is no other content.
func values(object *unstructured.Unstructured) any {
	if object.Object == nil {
		return nil
	}
	content := maps.Clone(object.Object)
	delete(content, "apiVersion")
	delete(content, "kind")
	metadata, _ := content["metadata"].(map[string]any)
	metadata = maps.Clone(metadata)
	for _, name := range []string{"name", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp", "managedFields"} {
		delete(metadata, name)
	}
	if content["metadata"] = metadata; len(metadata) == 0 {
		delete(content, "metadata")
	}
	if len(content) == 0 {
		return nil
	}
	return content
}

// sameEntry reports whether two managed fields entries have the same owner and own the same fields.
func sameEntry(a, b fieldowners.Entry) bool {
	a.Time, b.Time = time.Time{}, time.Time{}
	return a.Manager == b.Manager && slices.EqualFunc(a.Fields(), b.Fields(), fieldowners.Path.Equal)
}
