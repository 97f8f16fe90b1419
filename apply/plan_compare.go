package apply

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"coapply.dev/fieldowners"
)

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
	if c.intent.secret() {
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
