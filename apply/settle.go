package apply

import (
	"context"
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply/internal/content"
	"coapply.dev/apply/internal/decide"
	"coapply.dev/apply/internal/wire"
	"coapply.dev/apply/lanes"
	"coapply.dev/fieldowners"
)

// settlement holds the conflicts of an intent that the policy has decided so far, and the decisions.
type settlement struct {
	concessions // fields that the intent relinquishes or shares

	conflicts []Conflict                // all conflicts that were decided, also the rejected ones
	unread    []*fieldowners.EntryError // unreadable managed fields entries of the last object read
}

// attempt is one attempt of a call to apply its intent. Package decide is its protocol.
type attempt struct {
	*call
	settlement

	seen    decide.Case
	object  *unstructured.Unstructured // the object that was read last; nil if there is none
	landed  *answer                    // the response to the apply that succeeded
	refused error                      // the last ownership conflict (HTTP 409) in this attempt
	err     error                      // the error of the last write, or of judging it
}

// attempt makes one attempt to apply the intent. readFirst means that the live object is read before the first write. If
// IsStaleWrite is true for the error, the caller must make another attempt.
func (c *call) attempt(ctx context.Context, readFirst bool) (*answer, settlement, error) {
	a := attempt{call: c, seen: decide.Case{First: c.firstStep(readFirst)}}
	for {
		switch decide.Next(a.seen) {
		case decide.ReadCache:
			a.fromCache(ctx)
		case decide.ReadLive:
			if err := a.fromLive(ctx); err != nil {
				return nil, a.settlement, err
			}
		case decide.Send:
			a.sendUnforced(ctx)
		case decide.SendForced:
			a.sendForced(ctx)
		case decide.Done:
			return a.landed, a.settlement, nil
		case decide.Again:
			return nil, a.settlement, &StaleWriteError{Object: c.ref, Err: a.err}
		case decide.Fail:
			return nil, a.settlement, c.explain(ctx, a.err)
		}
	}
}

func (c *call) firstStep(readFirst bool) decide.Step {
	switch {
	case readFirst:
		return decide.ReadLive
	case c.mayGiveWay && c.mayForesee():
		return decide.ReadCache
	}
	return decide.Send
}

// fromCache reads the cached object. If nothing was sent yet, the policy decides which fields to relinquish or share.
func (a *attempt) fromCache(ctx context.Context) {
	a.object, a.seen.Object = a.cachedCopy(ctx), decide.Cached
	switch {
	case a.object == nil:
		a.seen.Object = decide.Unusable
	case a.seen.Last == decide.Conflict:
		a.judgeByCache(ctx)
	default:
		if found, unread := a.foresee(ctx, a.object); len(found.made) > 0 {
			a.settlement = settlement{found, found.conflicts(), unread}
		}
	}
}

// fromLive reads the live object, and decides anew which fields to relinquish or share. They come from two sources: the
// conflicts that are computed for the live object, and those that the API server has reported in this attempt. A reported
// conflict is skipped if the live object shows that the conflict has ended.
func (a *attempt) fromLive(ctx context.Context) (err error) {
	if err := a.alone(ctx); err != nil {
		return err
	}
	if a.object, err = a.readForSettling(ctx); err != nil {
		return a.explain(ctx, err)
	}
	before := a.settlement
	a.settlement, a.seen = settlement{}, decide.Case{Object: decide.Live}
	if a.object == nil { // an object that does not exist has no other owner
		a.seen.Object = decide.Absent
		return nil
	}
	var found []Conflict
	if a.refused != nil {
		a.seen.Last = decide.Conflict
		if found, before, a.err = a.judgeConflicts(a.refused, a.object, before); a.err != nil {
			a.settlement = before
			return nil //nolint:nilerr // the step Fail returns a.err, because seen.Conflicts is Reject
		}
	}
	a.concessions, a.unread = a.foresee(ctx, a.object)
	for _, conflict := range found {
		if conflict.Decision != Force && !a.has(conflict) && !a.letGo(conflict, a.object) {
			a.concessions = a.concede(conflict, a.intent, a.object)
		}
	}
	a.seen.Conflicts = decide.Concede
	if len(a.made)+len(before.made) == 0 && a.isRefusedBy(ctx, a.object, a.refused) {
		a.seen.Conflicts, a.seen.Current, a.conflicts = decide.Force, true, before.conflicts
	}
	return nil
}

// sendUnforced sends the intent without force, without the relinquished fields, and with the live values of the shared
// fields. If there are such fields, the apply is pinned to the uid of the object that was read.
//
// In two cases the apply is also pinned to the resourceVersion that was read: if the object comes from a cache, or if
// this field manager gives up fields that other managers own too. If the other managers gave up these fields first, the
// apply would remove the fields from the object.
func (a *attempt) sendUnforced(ctx context.Context) {
	p := a.target.pin()
	left, givesUp := a.left()
	if len(a.made) > 0 {
		if p.UID = a.object.GetUID(); givesUp || a.seen.Object == decide.Cached {
			p.ResourceVersion = a.object.GetResourceVersion()
		}
	}
	a.landed, a.err = a.send(ctx, request{form: left, pin: p})
	stale := IsStaleWrite(a.err)
	if !IsOwnershipConflict(a.err) {
		a.conflicts = a.concessions.conflicts() // all other conflicts have ended
	}
	switch {
	case a.err == nil:
		a.seen.Last = decide.Landed
	case IsOwnershipConflict(a.err):
		a.seen.Last, a.refused = decide.Conflict, a.err
		switch a.seen.Object {
		case decide.Cached:
			a.judgeByCache(ctx)
		case decide.Live:
			a.judgeByLive()
		}
	case stale && p.ResourceVersion != "", // the object changed after the read
		!a.target.uidGiven() && p.UID != "" && (stale || wire.IsImmutableUID(a.err)): // deleted or recreated after the read
		a.seen.Last = decide.Changed
	default:
		if a.seen.Last = decide.Failed; stale && a.seen.Object != decide.Live {
			lanes.Overtaken(ctx)
		}
	}
}

// sendForced sends the intent with force, to take the fields that the policy decided to force. The apply is pinned to the
// uid and resourceVersion of the object that was read before the decision. If the object was changed or recreated since
// then, the API server refuses the apply as a stale write.
func (a *attempt) sendForced(ctx context.Context) {
	left, _ := a.left()
	a.landed, a.err = a.send(ctx, request{left, wire.Identity{UID: a.object.GetUID(), ResourceVersion: a.object.GetResourceVersion()}, true})
	switch {
	case a.err == nil:
		a.seen.Last = decide.Landed
	case IsStaleWrite(a.err):
		a.seen.Last = decide.Changed
	default:
		a.seen.Last = decide.Failed
	}
}

// left returns the form of the intent to send, see concessions.form.
func (a *attempt) left() (left *encodedIntent, givesUp bool) {
	if len(a.made) == 0 {
		return a.intent, false
	}
	return a.form(a.intent)
}

// judgeByCache asks the policy to decide the reported conflicts with the values of the cached object. No live read is needed
// if the policy forces all conflicts, and if the reported conflicts equal the conflicts computed for the cached object.
func (a *attempt) judgeByCache(ctx context.Context) {
	ownership, _ := a.readableOwners(a.object)
	found, settled, err := a.judgeConflicts(a.refused, a.object, settlement{concessions: concessions{by: a.owner(), owners: ownership}})
	a.seen.Conflicts, a.seen.Current = decide.Force, a.isRefusedBy(ctx, a.object, a.refused)
	switch {
	case err != nil:
		a.seen.Conflicts = decide.Reject
	case slices.ContainsFunc(found, func(conflict Conflict) bool { return conflict.Decision != Force }):
		a.seen.Conflicts = decide.Concede
	case a.seen.Current:
		a.settlement = settled
	}
}

// judgeByLive asks the policy about the reported conflicts, by the live object that was read before. It adds the fields to
// relinquish or share to the concessions.
func (a *attempt) judgeByLive() {
	found, settled, err := a.judgeConflicts(a.refused, a.object, a.settlement)
	a.settlement, a.seen.Conflicts, a.seen.Current = settled, decide.Force, true
	if err != nil {
		a.err, a.seen.Conflicts = err, decide.Reject
		return
	}
	for _, conflict := range found {
		switch {
		case conflict.Decision == Force:
		case a.has(conflict):
			a.seen.Conflicts = decide.Repeated
			return
		default:
			a.concessions, a.seen.Conflicts = a.concede(conflict, a.intent, a.object), decide.Concede
		}
	}
}

// cachedCopy returns a copy of the cached object, or nil. The copy contains all writes of this process, and shows the
// fields of the intent as the API server stores them.
func (c *call) cachedCopy(ctx context.Context) *unstructured.Unstructured {
	object := c.target.read
	if object == nil && c.config.Steady != nil {
		object = c.look(ctx)
	}
	if object == nil || c.dryRun || c.intent.hasBody() || c.target.absent || c.target.doubtful ||
		c.target.uid != "" && c.target.uid != object.GetUID() || !c.takes(object) ||
		!c.believes(object) || !c.showsAll(ctx, object) {
		return nil
	}
	read, err := content.Copy(object)
	if err != nil || read.GetUID() == "" || read.GetResourceVersion() == "" {
		return nil
	}
	read.SetGroupVersionKind(c.ref.GroupVersionKind) // a typed object may lack its kind
	return read
}

// readForSettling reads the live object and sets the target of the call. It returns nil without an error if the object
// does not exist and the intent may create the object.
func (c *call) readForSettling(ctx context.Context) (*unstructured.Unstructured, error) {
	live, err := c.readLive(ctx)
	switch {
	case errors.Is(err, errAbsent):
		return nil, c.aimAt(nil, true)
	case err != nil:
		return nil, err
	}
	return live, c.aimAt(live, true)
}

// showsAll reports whether the object shows all fields of the intent as the API server stores them. A typed object may
// not, and the policy must not decide by such values.
func (c *call) showsAll(ctx context.Context, object client.Object) bool {
	if _, raw := object.(runtime.Unstructured); raw {
		return true
	}
	schemas, _ := c.schemas(ctx)
	return c.asApplied(c.intent.Fields).Shows(c.asRead(object), schemas)
}
