package apply

import (
	"context"
	"reflect"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply/internal/content"
)

// stillGivesWay proves what is left of an intent that gave way, and that the others
// stand where they stood. It is judged anew at each look: a policy may have changed its
// mind.
func (c *call) stillGivesWay(ctx context.Context, known remembered, object client.Object) (found proof, ok bool) {
	read, err := content.Copy(object)
	if err != nil || known.uid != object.GetUID() || len(read.GetManagedFields()) == 0 || content.Within(c.intent.object, isEmptyList) {
		return proof{}, false
	}
	left, _ := known.concessions.form(c.intent)
	if _, _, err := c.prove(ctx, left, object); err != nil {
		c.log.V(1).Info("not steady, it gave way", "because", c.intent.whyNot(err))
		return proof{}, false
	}
	held, worth := c.worthRemembering(settlement{concessions: known.concessions}, read)
	if !worth {
		c.log.V(1).Info("not steady, it gave way", "because", "others own these fields now, or the policy decides otherwise")
		return proof{}, false
	}
	if again, _ := held.form(c.intent); !reflect.DeepEqual(again.object, left.object) { // a shared value moved on
		return proof{}, false
	}
	conflicts := merge(held.concessions.conflicts(), nil)
	if slices.ContainsFunc(conflicts, func(found Conflict) bool { return !found.Remembered }) {
		c.rememberAs(held.concessions, object.GetUID()) // another owner has joined: told once
	}
	return proof{
		object: refOf(c.ref, object), shared: c.toTell(c.sharedIn(object.GetManagedFields(), c.intent.Subresource)), conflicts: conflicts, unread: held.unread,
	}, true
}

// isEmptyList reports whether it is a list set to nothing. When what stands above it gives way, what
// is left is not the same with it as without.
func isEmptyList(content any) bool {
	list, ok := content.([]any)
	return ok && len(list) == 0
}
