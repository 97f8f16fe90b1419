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

	Conflicts []Conflict           // the ownership conflicts, with the policy's decisions
	Changes   []fieldowners.Change // the values that would change, including defaults that the API server sets

	// Ownership lists the fields that each owner would gain and lose. The four lists below contain only fields of the
	// Applier's own field manager. A field may be in several lists.
	Ownership fieldowners.Difference
	Taken     []fieldowners.Moved // fields that this field manager would take from other managers
	Gained    []fieldowners.Path  // fields that this field manager would own in addition, without taking them from another
	Shared    []fieldowners.Owned // taken and gained fields that other managers would own too, one entry for each owner
	Dropped   []Dropped           // fields that this field manager would give up
}

// Dropped is a field that Apply would give up, because the intent does not set it. Change contains the values of the
// field before and after the Apply. If no other manager owns the field, the API server removes the value (Exists is
// then false), or replaces the value by a default.
type Dropped struct {
	fieldowners.Change

	Stays  bool                  // the value would not change
	Owners []fieldowners.Manager // the managers that would still own the field
}

// Plan returns the changes that an Apply of the intent would make, and writes nothing. It takes the same steps as
// Apply, with the same policy and pins. It sends each write as a dry run (dryRun=All, which includes admission), and
// compares the response with the object. The result is valid for the resourceVersion in Plan.Object: other managers may
// write to the object before an Apply. The client must honour dry runs. The fake client of controller-runtime 0.25
// ignores the dryRun of an apply, and writes.
//
// If the policy or Intent.Belongs would refuse the Apply, Plan returns no error, but sets Plan.Refused. For an intent
// with a Body, the response has no managed fields. The Plan then contains no owners, and the Action Unchanged means
// only that no value would change.
//
// Other errors are those of Apply. A ContendedError means that another writer changed the object during each attempt. A
// Plan is not counted in the metrics.
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

// untyped returns the intent with an unstructured configuration, so that the decoded response has its managed fields.
func (e *encodedIntent) untyped(intent Intent) Intent {
	sent := client.ApplyConfigurationFromUnstructured(&unstructured.Unstructured{Object: e.object})
	if e.hasBody() {
		intent.Body = sent
	} else {
		intent.Config = sent
	}
	return intent
}

// plan reads the object, sends the intent as a dry run, and compares the two. If the resourceVersion in the response
// shows that the object has changed since the read, plan starts again.
func (c *call) plan(ctx context.Context, intent Intent) (plan Plan, err error) {
	log := c.log
	exhausted, err := wire.Tries(ctx, IsStaleWrite, func() (err error) {
		c.log = log
		plan, err = c.planOnce(ctx, intent)
		return err
	})
	if exhausted {
		return Plan{}, fmt.Errorf("planning failed: the object changed between the read and the dry run in every attempt; plan again later "+
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
	if before == nil && after.GetResourceVersion() == neverWritten { // a dry run of a creation returns the resourceVersion that was sent
		after.SetResourceVersion("")
	}
	if versionOf(before) != after.GetResourceVersion() {
		return Plan{}, &StaleWriteError{Object: c.intent.ref,
			Err: fmt.Errorf("the object changed between the read, at resourceVersion %q, and the dry run, at %q", versionOf(before), after.GetResourceVersion())}
	}
	return c.planBy(before, after)
}

// versionOf returns the resourceVersion of an object, or "" for nil. (A dry run of a creation also returns "".)
func versionOf(object *unstructured.Unstructured) string {
	if object == nil {
		return ""
	}
	return object.GetResourceVersion()
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
	if c.ref.isSecret() {
		plan.hide()
	}
	return plan, nil
}

// tellOurs sets the fields of the Plan for this field manager: Taken, Gained, Shared and Dropped. The argument owned
// contains the owners after the dry run.
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

// hide removes the values of a Secret from a Plan. The conflicts in a Plan never contain values of Secrets.
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

// values returns the content of an object without apiVersion, kind, the name and the metadata that the API server
// maintains. It returns nil if nothing is left.
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
