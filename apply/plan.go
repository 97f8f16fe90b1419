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

// planBy returns the Plan that follows from the answer to the dry run.
func (c *call) planBy(before, after *unstructured.Unstructured) (Plan, error) {
	plan := c.newPlan(before)
	var held fieldowners.Ownership
	if before == nil {
		before = &unstructured.Unstructured{}
	} else {
		var err error
		if held, err = c.readable(before.GetManagedFields()); err != nil {
			return Plan{}, &RefusedError{Object: c.intent.ref, Err: fmt.Errorf("its managed fields: %w", err)}
		}
	}
	owned, err := c.readable(after.GetManagedFields())
	if err != nil {
		return Plan{}, &RefusedError{Object: c.intent.ref, Err: fmt.Errorf("managed fields of the answer: %w", err)}
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

// tellOurs fills in what we would gain and lose.
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

// hide removes the values of a Secret. The conflicts have none.
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

// values returns an object without its name and the metadata that the server maintains; nil if
// nothing else is left.
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

// sameEntry reports whether two entries are the same but for their time, fields above leaves
// included.
func sameEntry(a, b fieldowners.Entry) bool {
	a.Time, b.Time = time.Time{}, time.Time{}
	return a.Manager == b.Manager && slices.EqualFunc(a.Fields(), b.Fields(), fieldowners.Path.Equal)
}
