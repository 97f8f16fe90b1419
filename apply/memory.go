package apply

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"

	"coapply.dev/fieldowners"
)

// memory keeps, for the objects applied most recently, in which fields an intent
// gave way. The next apply then starts with what is left of the intent instead of
// with a conflict that it could have known. It is no more than a guess: the
// server's answer tells whether the other owners still stand there.
type memory struct{ byIntent *lru.Cache }

func newMemory() *memory { return &memory{lru.New(rememberedObjects)} }

const rememberedObjects = 4096

type memoryKey struct {
	kind        metav1.GroupVersionKind
	name        types.NamespacedName
	subresource string
}

type remembered struct {
	uid         types.UID
	intent      [sha256.Size]byte
	concessions concessions
}

func (e *encodedIntent) key() memoryKey {
	return memoryKey{metav1.GroupVersionKind(e.ref.GroupVersionKind), e.ref.NamespacedName, e.subresource}
}

// hash is the same for the same content.
func (e *encodedIntent) hash() [sha256.Size]byte {
	raw, err := json.Marshal(e.object) // it came from JSON
	if err != nil {
		return [sha256.Size]byte{}
	}
	return sha256.Sum256(raw)
}

// applyRemembered starts with what was left of the intent before. It tells whether
// that settled the matter; if not, the whole intent is to be sent.
func (c *call) applyRemembered(ctx context.Context) (action Action, settled bool, err error) {
	known, ok := c.recall()
	if !ok || c.dryRun { // a dry run leaves nothing to go by
		return "", false, nil
	}
	c.concessions = known.concessions
	action, err = c.send(ctx, c.concessions.form(c.intent), pin{uid: known.uid}, false)
	if err == nil && c.remember() {
		c.conflicts = merge(c.concessions.conflicts(), nil, c.intent.secret())
		return action, true, nil
	}
	switch ResultOf(c.classify(ctx, err)) {
	case "Retryable", "Cancelled": // that says nothing about what is left
		return "", true, err
	}
	c.concessions = concessions{} // others hold other fields now, or it is another object
	return action, false, nil
}

// recall gives what the intent gave way in before. Where another owner could mean
// another decision only the very same intent is recalled: should the answer show
// such an owner, nothing has landed that had not before.
func (c *call) recall() (known remembered, ok bool) {
	found, ok := c.memory.byIntent.Get(c.intent.key())
	if !ok {
		return remembered{}, false
	}
	known, ok = found.(remembered)
	if uid := c.intent.ref.UID; !ok || uid != "" && uid != known.uid {
		return remembered{}, false
	}
	if c.config.Policy.dependsOnOwner() && known.intent != c.intent.hash() {
		return remembered{}, false
	}
	known.concessions.made = slices.DeleteFunc(slices.Clone(known.concessions.made), func(made concession) bool {
		_, set := made.at.Value(c.intent.object)
		return !set // the intent does not want it any more
	})
	return known, len(known.concessions.made) > 0
}

// remember keeps the concessions of an apply that landed, as far as its answer
// shows that they are still called for; else it forgets what was kept.
func (c *call) remember() (kept bool) {
	if c.dryRun {
		return false
	}
	var answer *unstructured.Unstructured
	if len(c.concessions.made) > 0 {
		answer = c.landed()
	}
	if answer == nil || !c.stillHeld(answer) {
		c.forget()
		return false
	}
	held := concessions{slices.Clone(c.concessions.made), c.concessions.ours}
	for i := range held.made {
		held.made[i].conflict.Remembered = true
	}
	c.memory.byIntent.Add(c.intent.key(), remembered{answer.GetUID(), c.intent.hash(), held})
	return true
}

// forget has the next apply start with the whole intent.
func (c *call) forget() {
	if !c.dryRun {
		c.memory.byIntent.Remove(c.intent.key())
	}
}

// stillHeld tells whether, for each field that gave way, other owners hold it in
// the answer against our value and the policy would decide as before. It brings the
// concessions up to date with the answer.
func (c *call) stillHeld(answer *unstructured.Unstructured) bool {
	ownership, err := fieldowners.Parse(answer.GetManagedFields())
	if err != nil {
		return false
	}
	held := concessions{ours: c.ownedByUsAlone(ownership)}
	for _, made := range c.concessions.made {
		if slices.ContainsFunc(held.made, made.sameField) { // of another owner of the field
			continue
		}
		owners := c.heldAgainst(made, ownership.OwnersOf(made.conflict.Path), answer)
		if len(owners) == 0 {
			return false
		}
		held.made = append(held.made, owners...)
	}
	c.concessions = held
	return true
}

// heldAgainst gives a concession for each of a field's owners that holds it against
// us, and none if the field would not give way as it did.
func (c *call) heldAgainst(made concession, owners []fieldowners.Manager, answer *unstructured.Unstructured) []concession {
	relinquished, relinquish := c.concessions.relinquish(made), false
	var held []concession
	for _, owner := range owners {
		if c.isOurs(owner) {
			continue
		}
		now := made.conflict
		now.Manager = owner
		now.setPath(now.Path, c.intent.object, answer.Object)
		now.Decision = c.config.Policy.decide(now)
		switch {
		case reflect.DeepEqual(now.Ours, now.Theirs), now.Decision == Reject:
			return nil
		case now.Theirs == nil: // owned, and not there: what we want below it may be free
			return nil
		case now.Decision == Force: // that owner's claim is moot while the field gives way to another one
			continue
		}
		relinquish = relinquish || now.Decision == Relinquish
		held = append(held, newConcession(now, made.at, answer))
	}
	if relinquish != relinquished {
		return nil
	}
	return held
}

func (c *call) ownedByUsAlone(ownership fieldowners.Ownership) func(fieldowners.Path) bool {
	return func(path fieldowners.Path) bool {
		owners := ownership.OwnersOf(path)
		return len(owners) == 1 && c.isOurs(owners[0])
	}
}

// isOurs tells whether a managed fields entry is that of this call.
func (c *call) isOurs(m fieldowners.Manager) bool {
	return m.Name == c.config.FieldManager && m.Operation == metav1.ManagedFieldsOperationApply &&
		m.Subresource == c.intent.subresource
}
