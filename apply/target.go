package apply

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply/internal/cacheread"
	"coapply.dev/apply/internal/decide"
	"coapply.dev/apply/internal/wire"
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
	version  string        // the resourceVersion of the object that was read for MustExist or Belongs
	read     client.Object // Intent.Read or the cached object; nil after the first apply was sent; must not be changed
}

// pin returns the uid and resourceVersion to which an unforced apply is pinned. The resourceVersion is neverWritten if the
// apply may only create the object. Otherwise it is empty, and the apply is pinned to the uid alone, if it is known.
func (t target) pin() wire.Identity {
	p := wire.Identity{UID: t.uid}
	if t.absent {
		p.ResourceVersion = neverWritten
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

// aim sets the target of an intent with MustExist or Belongs from the cached object. If the cache does not return objects
// of the kind, it reads the live object.
func (c *call) aim(ctx context.Context) error {
	if c.target.read == nil {
		c.target.read = c.intent.Read
	}
	if c.target.read != nil {
		return c.aimAt(c.target.read, false)
	}
	requests := c.exchange.Requests()
	object, err := c.readCached(ctx)
	if err != nil && !errors.Is(err, errAbsent) {
		return err
	}
	c.target.read = object
	return c.aimAt(object, object == nil && c.exchange.Requests() > requests) // an object that is rejected is read again in the lane
}

// emptyObject returns an empty object of the call's kind, as the target of a read. The object is typed if the client's
// scheme has the kind, because most informers are typed. Otherwise the object is unstructured.
func (c *call) emptyObject() client.Object {
	if known, err := c.client.Scheme().New(c.ref.GroupVersionKind); err == nil {
		if object, ok := known.(client.Object); ok {
			return object
		}
	}
	return c.newLive()
}

// readCached reads the object with the Applier's client, usually from its cache. If the cache does not return objects
// of the kind, readCached reads from the API server. This read needs only the right to get.
func (c *call) readCached(ctx context.Context) (client.Object, error) {
	object, err := c.emptyObject(), cacheread.ErrNotCached
	if steady := c.config.Steady; steady == nil || !steady.reads.Stuck(c.ref.GroupVersionKind) {
		err = c.reads.Get(ctx, c.ref.GroupVersionKind, c.ref.NamespacedName, object, c.resource)
	}
	if errors.Is(err, cacheread.ErrNotCached) { // read the object itself, even if the intent is for a subresource
		object = c.newLive()
		c.exchange.Calling()
		err = c.config.LiveReader.Get(ctx, c.ref.NamespacedName, object)
		c.exchange.Called(err)
	}
	switch {
	case apierrors.IsNotFound(err):
		return nil, errAbsent
	case err != nil:
		return nil, fmt.Errorf("reading the object: %w", err)
	}
	return object, nil
}

// fromBirth reports whether the intent has Belongs and no MustExist. If the object of such an intent is absent, the
// call creates it exclusively, so that an object that someone else creates at the same moment is not adopted.
func (i Intent) fromBirth() bool { return i.Belongs != nil && !i.MustExist }

// aimAt sets the target of the call by an object that was read, or by nil if no object has the name. live reports whether
// the object was read from the API server. The error is errAbsent, a NotOursError or a UIDMismatchError.
func (c *call) aimAt(object client.Object, live bool) error {
	t := &c.target
	made, isMade := c.ledger.Made(c.ref.Key(), c.writer())
	t.absent, t.doubtful = false, false
	switch decide.Aim(c.seen(object, live, isMade)) {
	case decide.Pin:
		if (live || c.intent.MustExist) && (object.GetUID() == "" || object.GetResourceVersion() == "") {
			return errors.New("the object was read without uid or resourceVersion, which the write must contain")
		}
		c.pinTo(object)
	case decide.PinToMade:
		t.uid, t.found = made, true
	case decide.CreateOnly:
		t.uid, t.found, t.absent = "", false, true
	case decide.ReadFirst:
		t.doubtful = true
	case decide.NoObject:
		return errAbsent
	case decide.NotOurs:
		return &NotOursError{Object: c.ref.as(object), Owner: ownerOf(object), Managers: managersOf(object)}
	case decide.UIDMismatch:
		reason := errAbsent
		if object != nil {
			reason = fmt.Errorf("the live object has uid %s", object.GetUID())
		}
		return &UIDMismatchError{Object: c.pinnedRef(), Err: reason}
	}
	return nil
}

// seen returns the state of the call's object that is known before a write.
func (c *call) seen(object client.Object, live, made bool) decide.Read {
	seen := decide.Read{Intent: decide.Any, UIDGiven: c.target.uidGiven(), Live: live, Found: decide.Accepted, Made: made}
	switch {
	case c.intent.MustExist:
		seen.Intent = decide.MustExist
	case c.intent.Belongs != nil:
		seen.Intent = decide.Exclusive
	case c.intent.Subresource != "":
		seen.Intent = decide.OfSubresource
	}
	switch {
	case object == nil:
		seen.Found = decide.None
	case seen.UIDGiven && c.target.uid != object.GetUID():
		seen.Found = decide.Other
	case !c.takes(object):
		seen.Found = decide.Rejected
	}
	return seen
}

// pinTo pins the call to an object that was read. An intent without MustExist, Belongs and uid is not pinned.
func (c *call) pinTo(object client.Object) {
	t := &c.target
	if c.intent.MustExist || c.intent.Belongs != nil {
		t.found = t.found || t.uid == "" && !c.intent.MustExist
		t.uid, t.version = object.GetUID(), object.GetResourceVersion()
	}
}

// takes reports whether the intent may be applied to an existing object: Intent.Belongs is nil, or accepts the object.
// Belongs gets the object in the Go type of the client's scheme. If only the metadata was read, takes returns false.
func (c *call) takes(object client.Object) bool {
	return c.intent.Belongs == nil || belongs(c.intent.Belongs, object, c.emptyObject)
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
