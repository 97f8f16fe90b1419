package apply

import (
	"context"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply/internal/content"
	"coapply.dev/apply/internal/gotypes"
)

// stillGivesWay proves that applying what is left of an intent that gave way would change
// nothing, and that the other owners still have their fields. The policy is asked each time, as
// its answer may change.
func (c *call) stillGivesWay(ctx context.Context, known remembered, object client.Object) (found proof, ok bool) {
	read, err := content.Copy(object)
	if err != nil || known.uid != object.GetUID() || len(read.GetManagedFields()) == 0 || content.Within(c.intent.object, isEmptyList) {
		return proof{}, false
	}
	left, _ := known.concessions.form(c.intent)
	if known.concessions.emptied(left) && !left.sentWhole() {
		return proof{}, false
	}
	if _, _, err := c.prove(ctx, left, object); err != nil {
		c.log.V(1).Info("not steady, it gave way", "because", c.intent.whyNot(err))
		return proof{}, false
	}
	held, worth := c.worthRemembering(settlement{concessions: known.concessions}, read)
	if !worth {
		c.log.V(1).Info("not steady, it gave way", "because", "others own these fields now, or the policy decides otherwise")
		return proof{}, false
	}
	if c.mayWantTheSame(held.concessions, object) {
		c.log.V(1).Info("not steady, it gave way", "because", "the object may have the value in the text of the intent, which its Go type does not show")
		return proof{}, false
	}
	if again, _ := held.form(c.intent); !reflect.DeepEqual(again.object, left.object) { // a shared value has changed
		return proof{}, false
	}
	conflicts := merge(held.concessions.conflicts(), nil)
	if slices.ContainsFunc(conflicts, func(found Conflict) bool { return !found.Remembered }) {
		c.rememberAs(held.concessions, object.GetUID()) // another owner has joined: reported once
	}
	return proof{
		object: refOf(c.ref, object), shared: c.toTell(c.intent.Intent, c.sharedIn(object.GetManagedFields(), c.intent.Subresource)), conflicts: conflicts, unread: held.unread,
	}, true
}

// mayWantTheSame reports whether the intent may set a field that gave way to the value that it
// has. A custom resource keeps a value as it was sent, 0.5 for instance, and a typed object that
// was read from it has 500m.
func (c *call) mayWantTheSame(held concessions, object client.Object) bool {
	goType := reflect.TypeOf(object).Elem()
	if _, asSent := object.(runtime.Unstructured); asSent || gotypes.IsServersOwn(c.ref.GroupVersionKind, goType) {
		return false
	}
	own := reflect.New(goType).Interface()
	if runtime.DefaultUnstructuredConverter.FromUnstructured(c.intent.object, own) != nil {
		return true
	}
	wanted, _ := runtime.DefaultUnstructuredConverter.ToUnstructured(own) // it came from JSON
	return slices.ContainsFunc(held.made, func(made concession) bool {
		value, _ := made.conflict.Path.Value(wanted)
		return reflect.DeepEqual(value, made.conflict.Theirs)
	})
}

// isEmptyList reports whether a value is an empty list. If a parent of it gives way, what is
// left differs with it and without it.
func isEmptyList(content any) bool {
	list, ok := content.([]any)
	return ok && len(list) == 0
}
