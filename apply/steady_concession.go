package apply

import (
	"context"
	"reflect"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply/internal/content"
)

// gaveWayBefore tells whether fields of the intent were relinquished or shared.
func (c *call) gaveWayBefore() bool {
	_, gave := c.recall()
	return gave
}

// stillGivesWay proves what is left of an intent that gave way, and that the others
// stand where they stood. It is judged anew at each look: a policy may have changed its
// mind.
func (c *call) stillGivesWay(ctx context.Context, object client.Object) bool {
	known, _ := c.recall()
	read, err := content.Copy(object)
	if err != nil || known.uid != object.GetUID() || len(read.GetManagedFields()) == 0 || content.Within(c.intent.object, isEmptyList) {
		return false
	}
	c.concessions = known.concessions
	left, _ := c.concessions.form(c.intent)
	_, _, err = c.prove(ctx, left, object)
	if err != nil || !c.worthRemembering(read) {
		c.log.V(1).Info("not steady, it gave way", "because", c.intent.whyNot(err))
		c.concessions = concessions{}
		return false
	}
	if again, _ := c.concessions.form(c.intent); !reflect.DeepEqual(again.object, left.object) { // a shared value moved on
		c.concessions = concessions{}
		return false
	}
	c.conflicts = merge(c.concessions.conflicts(), nil)
	c.tellShared(c.sharedIn(object, c.intent.subresource))
	if slices.ContainsFunc(c.conflicts, func(found Conflict) bool { return !found.Remembered }) {
		c.rememberAs(object.GetUID()) // another owner has joined: told once
	}
	c.ref = refOf(c.ref, object)
	return true
}

// isEmptyList tells of a list set to nothing. When what stands above it gives way, what
// is left is not the same with it as without.
func isEmptyList(content any) bool {
	list, ok := content.([]any)
	return ok && len(list) == 0
}
