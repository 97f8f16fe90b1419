package apply

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/fieldowners"
	"coapply.dev/internal/recent"
)

// memory keeps, for the objects applied most recently, in which fields an intent gave way. The
// next apply then starts with what is left of the intent instead of with a conflict that was
// known. What is remembered is a guess: the server's answer shows whether the other owners
// still have the fields.
type memory = recent.Cache[memoryKey, remembered]

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
	return memoryKey{metav1.GroupVersionKind(e.ref.GroupVersionKind), e.ref.NamespacedName, e.Subresource}
}

// forgetObject forgets in which fields intents for the object gave way.
func (a *Applier) forgetObject(object ObjectRef) {
	for _, subresource := range []string{"", statusSubresource} {
		a.memory.Remove(memoryKey{metav1.GroupVersionKind(object.GroupVersionKind), object.NamespacedName, subresource})
	}
}

// hash returns a hash of the content.
func (e *encodedIntent) hash() [sha256.Size]byte {
	raw, _ := json.Marshal(e.object) // it came from JSON
	return sha256.Sum256(raw)
}

// sendRemembered sends what was left of the intent before. ok is false if the whole intent has
// to be sent.
func (c *call) sendRemembered(ctx context.Context) (landed *answer, settled settlement, ok bool, err error) {
	known, ok := c.recall()
	if !ok || c.dryRun { // a dry run has to show all conflicts
		return nil, settlement{}, false, nil
	}
	left, _ := known.concessions.form(c.intent)
	landed, err = c.send(ctx, request{form: left, pin: pin{uid: known.uid}})
	if err == nil {
		if settled, ok = c.remember(settlement{concessions: known.concessions}, landed); ok {
			settled.conflicts = merge(settled.concessions.conflicts(), nil)
			return landed, settled, true, nil
		}
	}
	switch ResultOf(c.classify(ctx, err)) {
	case "Retryable", "Cancelled": // that says nothing about what is left
		return nil, settled, true, err
	}
	return nil, settlement{}, false, nil // others hold other fields now, or it is another object
}

// recall returns the fields in which the intent gave way before. If the policy's decision
// depends on who the other owner is, only the very same intent is recalled: then nothing new
// has landed when the answer shows another owner.
func (c *call) recall() (known remembered, ok bool) {
	known, ok = c.memory.Get(c.intent.key())
	if uid := c.target.uid; !ok || uid != "" && uid != known.uid {
		return remembered{}, false
	}
	if c.target.read != nil && c.ownsRelinquished(c.target.read, known.concessions.made) {
		return remembered{}, false // what is left of the intent would have the server remove it
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

// ownsRelinquished reports whether we own a relinquished field by now, as after another process
// migrated it to us. (What this Applier migrated itself is forgotten by Wrote.)
//
// Without a read this is not known: an intent without MustExist and Belongs, of an applier
// without Steady, is sent as it was left, and its answer shows that the field is
// gone. A read would cost each of these applies a request.
func (c *call) ownsRelinquished(object client.Object, made []concession) bool {
	for _, entry := range readable(object.GetManagedFields()) {
		if c.isOurs(entry.Manager) && slices.ContainsFunc(made, func(m concession) bool { return m.leaveOut && entry.Owns(m.conflict.Path) }) {
			return true
		}
	}
	return false
}

// remember keeps the concessions of an apply that landed if its answer shows that they are
// still needed; otherwise it forgets those of before.
func (c *call) remember(settled settlement, landed *answer) (_ settlement, kept bool) {
	if c.dryRun {
		return settled, false
	}
	if len(settled.made) > 0 { // reading the answer takes time, and most intents have nothing to remember
		if object := landed.object(); object != nil {
			if held, worth := c.worthRemembering(settled, object); worth {
				c.rememberAs(held.concessions, object.GetUID())
				return held, true
			}
		}
	}
	c.forget()
	return settled, false
}

// rememberAs keeps the concessions as those of the object with this uid.
func (c *call) rememberAs(held concessions, uid types.UID) {
	held.made = slices.Clone(held.made)
	for i := range held.made {
		held.made[i].conflict.Remembered = true
	}
	held.owned = held.ownedAround()
	held.keep = held.owned // what we have now is what this form keeps: sent again it gives up nothing
	c.memory.Put(c.intent.key(), remembered{uid, c.intent.hash(), held})
}

// forget makes the next apply start with the whole intent.
func (c *call) forget() {
	if !c.dryRun {
		c.memory.Remove(c.intent.key())
	}
}

// worthRemembering reports whether every field that gave way will have to give way again, with
// the same parents. That is not certain of a field without a live value: what we want below it
// may be free next time. A parent that we kept, as its only owner, is to be given up once others
// own it too: that takes a write pinned to a read.
func (c *call) worthRemembering(settled settlement, object *unstructured.Unstructured) (_ settlement, worth bool) {
	if len(object.GetManagedFields()) == 0 {
		return settled, false
	}
	held, still := c.stillCalledFor(settled, object)
	if !still || slices.ContainsFunc(held.made, func(made concession) bool { return made.conflict.Theirs == nil }) {
		return held, false
	}
	_, givesUp := held.form(c.intent)
	return held, !givesUp
}

// stillCalledFor reports whether, for each field that gave way, other owners hold it in this
// object against our value and the policy would decide as before. It returns what was settled
// up to date with the object. An object without managed fields does not show owners; then only
// the shared values are updated.
//
// An owner whose fields cannot be read, such as forged ones, owns a field if the server has
// said so in a conflict, and for as long as these fields are the same. Where a manager has two
// entries, it is judged anew.
func (c *call) stillCalledFor(settled settlement, object *unstructured.Unstructured) (_ settlement, still bool) {
	entries := object.GetManagedFields()
	ownership, unread := fieldowners.ParseReadable(entries)
	settled.unread = unread
	held := c.noneBy(ownership)
	if len(entries) == 0 {
		held.made = settled.made
		settled.concessions = held.adopting(object)
		return settled, true
	}
	if hasTwins(entries) {
		return settled, false
	}
	for _, made := range settled.made {
		if slices.ContainsFunc(held.made, made.sameField) { // of another owner of the field
			continue
		}
		owners := slices.Concat(ownership.OwnersOf(made.conflict.Path), settled.unreadOwners(made, entries))
		against := c.heldAgainst(made, settled.concessions, owners, object)
		if len(against) == 0 {
			return settled, false
		}
		held.made = append(held.made, against...)
	}
	settled.concessions = held
	return settled, true
}

// hasTwins reports whether two entries are of one manager, as writes through /scale may leave
// them. The API server reads the last of them, and drops the others at the next write: what only
// they have is nobody's (managedfields.DecodeManagedFields).
func hasTwins(entries []metav1.ManagedFieldsEntry) bool {
	for i, entry := range entries {
		if slices.ContainsFunc(entries[:i], func(other metav1.ManagedFieldsEntry) bool {
			return other.Manager == entry.Manager && other.Operation == entry.Operation && other.Subresource == entry.Subresource &&
				(other.APIVersion == entry.APIVersion || entry.Operation == metav1.ManagedFieldsOperationApply)
		}) {
			return true
		}
	}
	return false
}

// noneBy returns empty concessions for an object with these owners.
func (c *call) noneBy(ownership fieldowners.Ownership) concessions {
	return concessions{
		owned: func(path fieldowners.Path) bool { return slices.ContainsFunc(ownership.OwnersOf(path), c.isOurs) },
		keep: func(path fieldowners.Path) bool {
			owners := ownership.OwnersOf(path)
			return len(owners) == 1 && c.isOurs(owners[0])
		},
	}
}

// heldAgainst returns a concession for each of a field's owners to which we have to give way,
// and nil if the field would not give way as before.
func (c *call) heldAgainst(made concession, before concessions, owners []fieldowners.Manager, object *unstructured.Unstructured) []concession {
	relinquished, relinquish := before.relinquish(made), false
	var held []concession
	for _, owner := range owners {
		if c.isOurs(owner) {
			continue
		}
		conflict := Conflict{Object: c.intent.ref.as(object), Manager: owner, ServerPath: made.conflict.ServerPath}
		ours, _ := made.conflict.Path.Value(c.intent.object)
		theirs, _ := made.conflict.Path.Value(object.Object)
		if equal := conflict.setPath(made.conflict.Path, ours, theirs); equal {
			return nil
		}
		c.decideOn(&conflict)
		switch {
		case !conflict.Decision.valid(), conflict.Decision == Reject:
			return nil
		case conflict.Decision == Force: // that owner is not asked while the field gives way to another one
			continue
		}
		conflict.Remembered = before.remembers(conflict)
		relinquish = relinquish || conflict.Decision == Relinquish
		against := newConcession(conflict, made.at, object)
		against.unread = before.unreadOf(conflict)
		held = append(held, against)
	}
	if relinquish != relinquished {
		return nil
	}
	return held
}

// isOurs reports whether a managed fields entry is that of this call.
func (c *call) isOurs(m fieldowners.Manager) bool {
	return m.Name == c.config.FieldManager && m.Operation == metav1.ManagedFieldsOperationApply &&
		m.Subresource == c.intent.Subresource
}
