package apply

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/fieldowners"
)

// neverWritten is a resourceVersion that no object ever has, because etcd's revisions of objects begin at 2. An apply
// with this resourceVersion is an exclusive creation. If the object is absent, the apply creates it. If the object
// exists, the API server refuses the apply, even with force. ("0" is not suitable, because it means no
// resourceVersion.)
const neverWritten = "1"

// target holds what a call knows about its object before the first write, and what the writes are pinned to.
type target struct {
	uid      types.UID     // the uid to which writes are pinned; "" if they are not pinned
	found    bool          // the uid comes from an object that Intent.Belongs accepted, and not from the caller
	absent   bool          // the object was not found: the call creates it exclusively
	doubtful bool          // the cache has no object that matches the caller's uid and Belongs: read live before the write
	version  string        // the resourceVersion of the object that was read for MustExist
	read     client.Object // Intent.Read or the cached object; nil after the first apply was sent; must not be changed
}

// pin returns the uid and resourceVersion to which an unforced apply is pinned: the known uid, and neverWritten if the
// object is to be created exclusively.
func (t target) pin() pin {
	p := pin{uid: t.uid}
	if t.absent {
		p.resourceVersion = neverWritten
	}
	return p
}

// uidGiven reports whether the caller pinned the intent to a uid.
func (t target) uidGiven() bool { return t.uid != "" && !t.found }

func (c *call) pinnedRef() ObjectRef {
	ref := c.intent.ref
	ref.UID = c.target.uid
	return ref
}

// aim sets the target of an intent with MustExist or Belongs from the cached object. The target includes the uid to
// which the writes are pinned. For other intents aim does nothing.
func (c *call) aim(ctx context.Context) error {
	if !c.intent.MustExist && !c.intent.fromBirth() {
		return nil
	}
	requests := c.exchange.Requests()
	cached, err := c.cached(ctx)
	if c.intent.MustExist && errors.Is(err, errAbsent) && c.exchange.Requests() == requests {
		cached, err = c.readWhole(ctx) // the cache may not have a new object yet
	}
	switch {
	case c.intent.MustExist && err == nil && !c.takes(c.intent.Intent, cached):
		err = errAbsent
	case c.intent.fromBirth() && (err == nil || errors.Is(err, errAbsent)):
		c.expect(cached)
	}
	if c.intent.MustExist && err == nil {
		err = c.pinTo(cached)
	}
	if !c.intent.MustExist && errors.Is(err, errAbsent) {
		return nil
	}
	return err
}

// cached returns the object from the cache. If the object was already read to look for a SteadyState proof, cached does
// not read it again.
func (c *call) cached(ctx context.Context) (client.Object, error) {
	if c.target.read != nil {
		return c.target.read, nil
	}
	object, err := c.readCached(ctx)
	if err == nil {
		c.target.read = object
	}
	return object, err
}

func (c *call) pinTo(object client.Object) error {
	if c.target.uid != "" && c.target.uid != object.GetUID() {
		return &UIDMismatchError{Object: c.pinnedRef(), Err: fmt.Errorf("the object that was read has uid %s", object.GetUID())}
	}
	if c.target.uid = object.GetUID(); c.target.uid == "" {
		return errors.New("the object was read without a uid, which the write must contain")
	}
	c.target.version = object.GetResourceVersion()
	return nil
}

// fromBirth reports whether the intent has Belongs and no MustExist. If the object of such an intent is absent, the
// call creates it exclusively, so that an object that someone else creates at the same moment is not adopted.
func (i Intent) fromBirth() bool { return i.Belongs != nil && !i.MustExist }

// expect sets the target of an intent that has Belongs and no MustExist. The argument is the cached object, or nil if
// the cache does not have the object. A new object may be missing in the cache. So if this Applier has just created the
// object (see ledger.Made), the target gets the uid from the creation.
func (c *call) expect(cached client.Object) {
	switch t := &c.target; {
	case t.uid != "": // the caller gave a uid, so nothing is created
		t.doubtful = cached == nil || cached.GetUID() != t.uid || !c.takes(c.intent.Intent, cached)
	case cached == nil:
		uid, known := c.ledger.Made(c.ref.Key(), c.writer(""))
		t.uid, t.found, t.absent = uid, known, !known
	case c.takes(c.intent.Intent, cached):
		t.uid, t.found = cached.GetUID(), true
	default:
		t.doubtful = true
	}
}

// judgeBirth sets the target of an intent that has Belongs and no MustExist. The argument is the live object, or nil if
// the object does not exist. If Intent.Belongs rejects the live object, judgeBirth returns a NotOursError.
func (c *call) judgeBirth(live *unstructured.Unstructured) error {
	t := &c.target
	given := t.uidGiven()
	t.absent, t.doubtful = live == nil, false
	switch {
	case live == nil && !given:
		t.uid, t.found = "", false
	case live == nil || given && t.uid != live.GetUID(): // readForSettling returns the error of this case
	case !c.takes(c.intent.Intent, live):
		return &NotOursError{Object: c.ref.as(live), Owner: ownerOf(live), Managers: managersOf(live)}
	case !given:
		t.uid, t.found = live.GetUID(), true
	}
	return nil
}

// takes reports whether the intent may be applied to an existing object: Intent.Belongs is nil, or accepts the object.
// Belongs gets the object in the Go type of the client's scheme. If only the metadata was read, takes returns false.
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

func ownerOf(object metav1.Object) string {
	if owner := metav1.GetControllerOf(object); owner != nil {
		return fmt.Sprintf("%s %s", owner.Kind, owner.Name)
	}
	return ""
}

func managersOf(object metav1.Object) (managers []fieldowners.Manager) {
	ownership, _ := fieldowners.ParseReadable(object.GetManagedFields())
	for _, entry := range ownership.Entries() {
		managers = append(managers, entry.Manager)
	}
	return managers
}

// resource returns the resource and group of the call's object as RBAC rules name them, such as deployments.apps.
func (c *call) resource() string {
	mapping, err := c.client.RESTMapper().RESTMapping(c.ref.GroupKind(), c.ref.Version)
	if err != nil {
		return c.ref.GroupKind().String()
	}
	return mapping.Resource.GroupResource().String()
}
