package apply

import (
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply/internal/recent"
	"coapply.dev/apply/internal/wire"
	"coapply.dev/apply/lanes"
)

// neverWritten is a resourceVersion that no object has: etcd's revisions of objects begin
// at 2. An apply that carries it creates an absent object and is refused, forced or not,
// where one exists. ("0" would be none at all.)
const neverWritten = "1"

// birth is what a call knows of an object that is its manager's from birth.
type birth struct {
	belongs  func(client.Object) bool // nil: whatever has the name is adopted
	absent   bool                     // nothing has the name, as far as is known: create exclusively
	doubtful bool                     // the cache does not show an object that may be applied to: read live first
	pinned   bool                     // the uid that the intent is pinned to was found here, not given by the caller
}

// expect settles by the cache which object it is about; cached is nil where it has none.
// What the cache does not have yet may be what this applier made a moment ago.
func (c *call) expect(cached client.Object) {
	switch {
	case c.intent.ref.UID != "": // the caller knows, and nothing is created
		c.birth.doubtful = cached == nil || cached.GetUID() != c.intent.ref.UID || !c.belongs(cached)
	case cached == nil:
		uid, known := c.madeLately(c.ref)
		c.intent.ref.UID, c.birth.pinned, c.birth.absent = uid, known, !known
	case c.belongs(cached):
		c.intent.ref.UID, c.birth.pinned = cached.GetUID(), true
	default:
		c.birth.doubtful = true
	}
}

// unexpected reports whether a refused apply says that the object is not the one that was
// expected. (The server reports an ownership conflict before a failed precondition.)
func (c *call) unexpected(refused error) bool {
	return c.birth.belongs != nil && (c.birth.absent || c.birth.pinned) &&
		(IsStaleWrite(refused) || wire.IsImmutableUID(refused) || c.birth.absent && IsOwnershipConflict(refused))
}

// judgeBirth settles by the live object, nil if there is none, what the next write is
// pinned to, or that it is somebody else's.
func (c *call) judgeBirth(live *unstructured.Unstructured) error {
	given := c.intent.ref.UID != "" && !c.birth.pinned
	c.birth.absent, c.birth.doubtful = live == nil, false
	switch {
	case live == nil && !given:
		c.intent.ref.UID, c.birth.pinned = "", false
	case live == nil || given && c.intent.ref.UID != live.GetUID(): // the caller tells
	case !c.belongs(live):
		return &NotOursError{Object: c.ref.as(live), Owner: ownerOf(live)}
	case !given:
		c.intent.ref.UID, c.birth.pinned = live.GetUID(), true
	}
	return nil
}

// belongs asks Intent.Belongs about an object in the Go type that the client knows its
// kind by. Of one of which the caller has read the metadata alone it can tell nothing.
func (c *call) belongs(object client.Object) bool {
	return belongs(c.birth.belongs, object, c.emptyObject)
}

// takes reports whether an object that is there may be applied to.
func (c *call) takes(intent Intent, object client.Object) bool {
	return intent.Belongs == nil || belongs(intent.Belongs, object, c.emptyObject)
}

func belongs(ask func(client.Object) bool, object client.Object, empty func() client.Object) bool {
	switch read := object.(type) {
	case *metav1.PartialObjectMetadata:
		return false
	case runtime.Unstructured:
		if known := empty(); runtime.DefaultUnstructuredConverter.FromUnstructured(read.UnstructuredContent(), known) == nil {
			object = known
		}
	}
	return ask(object)
}

// uidGiven reports whether it is the caller who pinned the intent to a uid.
func (c *call) uidGiven() bool { return c.intent.ref.UID != "" && !c.birth.pinned }

// pinned is what an apply is bound to before anything was read for it.
func (c *call) pinned() pin {
	p := pin{uid: c.intent.ref.UID}
	if c.birth.absent {
		p.resourceVersion = neverWritten
	}
	return p
}

// made remembers for a moment the uids of objects that were applied as their manager's
// own: the cache may not have them yet.
type made = recent.Cache[lanes.Key, madeObject]

type madeObject struct {
	uid types.UID
	at  time.Time
}

// madeFor is how long a cache may lag. Later what it does not have is gone.
const madeFor = 10 * time.Second

// madeLately gives the uid of an object that was made a moment ago.
func (a *Applier) madeLately(ref ObjectRef) (uid types.UID, ok bool) {
	object, ok := a.made.Get(ref.Key())
	if !ok || time.Since(object.at) > madeFor {
		return "", false
	}
	return object.uid, true
}

func (c *call) madeIt() {
	if c.birth.belongs != nil && !c.dryRun && c.ref.UID != "" {
		c.made.Put(c.ref.Key(), madeObject{c.ref.UID, time.Now()})
	}
}

func ownerOf(object metav1.Object) string {
	if owner := metav1.GetControllerOf(object); owner != nil {
		return fmt.Sprintf("%s %s", owner.Kind, owner.Name)
	}
	return ""
}

// ErrNotOurs says that an object is someone else's. A client of an applier may refuse to
// write to one by an error that matches it.
var ErrNotOurs = errors.New("someone else's")

// NotOursError is ErrNotOurs, and ErrRefused: an object that was there before has the name
// of one that the intent wants to be its manager's own. Nothing was written to it.
type NotOursError struct {
	Object ObjectRef
	Owner  string // its controller, as kind and name; "" if it has none
}

func (e *NotOursError) Error() string {
	controlled := ""
	if e.Owner != "" {
		controlled = ", controlled by the " + e.Owner
	}
	return fmt.Sprintf("%v is %v: an object of that name was there before and is %v%s; delete it, or use another name",
		e.Object, ErrRefused, ErrNotOurs, controlled)
}

// Unwrap returns ErrNotOurs and ErrRefused.
func (e *NotOursError) Unwrap() []error { return []error{ErrNotOurs, ErrRefused} }
