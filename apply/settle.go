package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"coapply.dev/apply/internal/wire"
)

// settle is one try of step 6: refused is the ownership conflict of an unforced apply
// just now, if any.
//
// It reads the object and then applies unforced what is left of the intent
// once its relinquished and shared fields have given way. Force is pinned to that
// read, which came before the judged answer. Pinned to a later read, or not at
// all, it would take fields that became contested after the judgement (1,500 races
// each: 0 unintended steals this way, 741 and 900 the others).
func (c *call) settle(ctx context.Context, refused error) (Action, error) {
	live, err := c.readForSettling(ctx)
	if err != nil {
		return "", err
	}
	if !IsOwnershipConflict(refused) { // another object than was expected
		refused = nil
	}
	return c.settleBy(ctx, live, refused)
}

// readForSettling reads the object that writes will be pinned to. nil without an
// error: there is none any more, and the intent may create it.
func (c *call) readForSettling(ctx context.Context) (*unstructured.Unstructured, error) {
	live, err := c.readLive(ctx)
	absent := errors.Is(err, errAbsent)
	if absent {
		live = nil
	}
	if c.birth.belongs != nil && (absent || err == nil) {
		if err := c.judgeBirth(live); err != nil {
			return nil, err
		}
	}
	switch {
	case absent && c.intent.ref.UID == "" && c.intent.subresource == "":
		return nil, nil
	case err != nil:
		return nil, err // errAbsent included: run knows what it means
	case c.intent.ref.UID != "" && c.intent.ref.UID != live.GetUID():
		return nil, &UIDMismatchError{Object: c.intent.ref, Err: fmt.Errorf("the live object has uid %s", live.GetUID())}
	case live.GetUID() == "" || live.GetResourceVersion() == "":
		return nil, errors.New("no write can be pinned to it: it was read without uid or resourceVersion")
	}
	return live, nil
}

// settleBy settles by one look at the object. A stale write is returned for another.
func (c *call) settleBy(ctx context.Context, live *unstructured.Unstructured, refused error) (Action, error) {
	if live == nil {
		c.concessions = concessions{} // nothing is left to give way to
	} else {
		// The first answer saves an apply, where it is known that its owners are still those
		// of the object read: whose fields cannot be read has to be named again after the read.
		if refused != nil && !namesUnread(refused, live.GetManagedFields()) {
			if _, err := c.decide(refused, live); err != nil {
				return "", err
			}
		}
		if !c.stillCalledFor(live) { // another object, or others own the fields now: judge anew
			c.concessions = c.noneBy(c.readableOwners(live))
		}
	}
	for {
		action, refused := c.sendConceding(ctx, live)
		if !IsOwnershipConflict(refused) {
			c.conflicts = merge(c.concessions.conflicts(), nil) // who else was in the way has let go
			if refused == nil && len(c.conflicts) > 0 {
				c.log.Info("left fields to other managers", "conflicts", texts(c.conflicts))
			}
			return action, refused
		}
		if live == nil { // it was absent when read and is there now: read again
			return "", &StaleWriteError{Object: c.ref, Err: refused}
		}
		conceded, err := c.decide(refused, live)
		if err != nil {
			return "", err
		}
		if !conceded {
			return c.force(ctx, live)
		}
	}
}

// sendConceding applies, unforced, what the concessions leave of the intent. It is
// pinned to the object that they were made to and, where it gives up a list item or
// the like to others who own it, to the resourceVersion that says so: were they to
// let go first, the server would remove it.
func (c *call) sendConceding(ctx context.Context, live *unstructured.Unstructured) (Action, error) {
	p := c.pinned()
	left, givesUp := c.concessions.form(c.intent)
	if len(c.concessions.made) > 0 {
		p.uid = live.GetUID()
	}
	if givesUp {
		p.resourceVersion = live.GetResourceVersion()
	}
	action, err := c.send(ctx, left, p, false)
	switch {
	case err == nil || IsOwnershipConflict(err):
		return action, err
	case p.resourceVersion != "" && IsStaleWrite(err), // something changed since it was read
		!c.uidGiven() && p.uid != "" && (wire.IsImmutableUID(err) || IsStaleWrite(err)): // deleted or recreated since then
		return "", &StaleWriteError{Object: c.ref, Err: err}
	}
	return "", c.explain(ctx, err)
}

// decide keeps the conflicts of an answer, as far as they concern this object. It
// gives a ConflictError if the policy rejects one of them, and else tells whether
// the intent has to give way in more fields than before.
func (c *call) decide(refused error, live *unstructured.Unstructured) (conceded bool, err error) {
	found, err := c.describeConflicts(refused, live)
	if err != nil {
		return false, &RefusedError{Object: c.ref, Err: err}
	}
	c.conflicts = merge(c.concessions.conflicts(), found)
	if hasRejected(found) {
		c.forget() // what gave way before has to wait for the judgement, too
		return false, &ConflictError{
			Object: c.ref, Subresource: c.intent.subresource, FieldManager: c.config.FieldManager, Conflicts: c.conflicts, Err: refused,
		}
	}
	for _, conflict := range found {
		if conflict.Decision == Force {
			continue
		}
		if c.concessions.has(conflict) { // a shared value moved on since it was read
			return false, &StaleWriteError{Object: c.ref, Err: refused}
		}
		c.concessions.concede(conflict, c.intent, live)
		conceded = true
	}
	return conceded, nil
}

// force takes what was judged, pinned to the read before the judgement.
func (c *call) force(ctx context.Context, live *unstructured.Unstructured) (Action, error) {
	p := pin{uid: live.GetUID(), resourceVersion: live.GetResourceVersion()}
	left, _ := c.concessions.form(c.intent)
	action, err := c.send(ctx, left, p, true)
	switch {
	case err == nil:
		c.log.Info("took fields from other managers, or left them", "conflicts", texts(c.conflicts))
	case wire.IsImmutableUID(err) && !c.uidGiven(): // recreated since it was read
		return "", &StaleWriteError{Object: c.ref, Err: err}
	case IsOwnershipConflict(err): // of a server that does not know force
		return "", &RefusedError{Object: c.ref, Err: err}
	}
	return action, err
}

// merge gives the conflicts of this answer and those that were settled before it,
// in the order of the server's paths.
func merge(settled, found []Conflict) []Conflict {
	all := slices.Clone(settled)
	for _, conflict := range found {
		all = slices.DeleteFunc(all, conflict.sameField)
	}
	all = append(all, found...)
	slices.SortStableFunc(all, Conflict.compare)
	return all
}
