package apply

import (
	"context"
	"errors"
	"reflect"

	"k8s.io/client-go/openapi"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply/internal/recent"
	"coapply.dev/apply/internal/schemas"
	"coapply.dev/apply/steady"
	"coapply.dev/fieldowners"
)

// SteadyState tells of an intent that applying it would change nothing, without a
// request. All appliers of a process share one.
//
// What it says is proven, relative to the object read: this manager's one managed
// fields entry has exactly the fields that the API server would compute from the
// intent, by the server's own schema; and merging the intent into the object changes
// no value of it. A value that differs in form only, such as 1000m where the server
// made it 1, passes for kinds whose Go type is the server's own, where nobody shares
// the field. Whatever is not proven is sent.
//
// Nothing is proven by a typed read of what its Go type does not show, such as fields of
// a server that is newer than the type: such an intent is sent each time, until the
// type is updated or the object is read as unstructured.
//
// What was proven is remembered as a few hashes, so that the same object needs but a
// look-up the next time, and one that others wrote to a second look at what is ours.
// Nothing is ever concluded from what the memory does not hold: a process that starts
// anew proves anew, and sends nothing for it.
//
// It does not know what the server would do beyond Server-Side Apply: mutating
// admission that has appeared since, and would change the object at any write, changes
// it at the next one. What admission made of our own values is not hidden: such an
// intent is sent each time.
//
// The memory takes about 250 bytes for each intent, and is bounded.
type SteadyState struct {
	reads   *cacheReads
	schemas *schemas.Set
	keys    steady.Keys
	prints  *steady.Prints
	proven  *recent.Cache[steady.Key, *proven]
	written *recent.Cache[writtenKey, written]
}

// rememberedIntents is how many intents are remembered at least.
const rememberedIntents = 1 << 16

// proven is what was proven of an intent.
type proven struct {
	*steady.Print

	onlyThis bool // of another version nothing is known
	schema   *schemas.Known
	shared   []fieldowners.Shared // with others
}

// NewSteadyState gives a SteadyState. The reader is a cache: mgr.GetCache(), or a
// client that reads from it. Objects are read without being copied, as typed objects
// where the client's scheme knows the kind and as unstructured ones else. (A manager's
// client reads these past its cache, a request for each apply, unless it has
// client.CacheOptions.Unstructured.) Like any read of that cache this starts an informer
// where there is none, which needs list and watch, unless
// cache.Options.ReaderFailOnMissingInformer is set. Where the cache gives nothing within
// a second, the intent is sent, as all of that kind are until it does, and the log says
// once which right may be missing.
//
// The server is asked for the schema of a kind's group and version once, and whether it
// is still the same every ten minutes: discoveryClient.OpenAPIV3(). It is asked in the
// background. Applies of a group and version that was not asked for before wait for the
// answer, a second at most, so that a restart sends nothing; after that, and after a
// failure, what needs a schema that is not known is sent. A schema that is known stays
// trusted until the server is seen to have another one. Each request runs in a goroutine
// that ends with it, within ten seconds if the openapi.Client heeds contexts, as that of
// a discovery client does.
func NewSteadyState(reader client.Reader, server openapi.Client) (*SteadyState, error) {
	if reader == nil {
		return nil, errors.New("apply: a reader is needed, such as mgr.GetCache()")
	}
	if server == nil {
		return nil, errors.New("apply: the API server's schemas are needed, from discoveryClient.OpenAPIV3()")
	}
	return &SteadyState{
		reads:   newCacheReads(reader),
		schemas: schemas.New(server),
		keys:    steady.NewKeys(),
		prints:  steady.NewPrints(),
		proven:  recent.New[steady.Key, *proven](rememberedIntents),
		written: recent.New[writtenKey, written](rememberedIntents),
	}, nil
}

// maySkip tells whether there is anything to prove. A dry run is there for its answer,
// and the fields of other subresources are not those of the object.
func (c *call) maySkip(intent Intent) bool {
	return c.config.Steady != nil && !c.dryRun && intent.Body == nil &&
		(intent.Subresource == "" || intent.Subresource == statusSubresource)
}

// stillSteady is the first half of step 2, for an intent that was proven before: the
// object is the same, or at least our entry and the values that it owns are.
func (c *call) stillSteady(ctx context.Context, intent Intent) bool {
	s := c.config.Steady
	if !c.maySkip(intent) {
		return false
	}
	var ok bool
	if c.provenAs, ok = s.keys.Of(intent.Config, c.config.FieldManager, intent.Subresource); !ok {
		return false
	}
	return c.stillProven(ctx, intent)
}

// stillProven is the check alone.
func (c *call) stillProven(ctx context.Context, intent Intent) bool {
	s := c.config.Steady
	before, ok := s.proven.Get(c.provenAs)
	if !ok || !s.schemas.Good(ctx, before.schema, c.start) {
		return false
	}
	c.ref = ObjectRef{GroupVersionKind: before.Kind(), NamespacedName: before.Name}
	object := c.look(ctx, intent.Read)
	if object == nil || !before.IsOf(object, intent.UID) || !c.takes(intent, object) || !c.believes(object) {
		return false
	}
	if object.GetResourceVersion() != before.ResourceVersion {
		if c.contract != nil && mayHaveLost(object) {
			return false
		}
		now, ok := c.fingerprint(object, before.schema)
		if !ok || before.onlyThis || !before.HoldsFor(now.Print) {
			return false
		}
		if now.shared = before.shared; !now.SameOwners(before.Print) {
			now.shared = c.sharedIn(object, c.provenAs.Subresource)
		}
		s.proven.Put(c.provenAs, now)
		before = now
	}
	c.tellShared(before.shared)
	c.ref = refOf(c.ref, object)
	return true
}

// becomesSteady is the second half: the proof.
func (c *call) becomesSteady(ctx context.Context, intent Intent) bool {
	s := c.config.Steady
	if !c.maySkip(intent) {
		return false
	}
	object := c.look(ctx, intent.Read)
	if object == nil || c.intent.ref.UID != "" && c.intent.ref.UID != object.GetUID() || !c.takes(intent, object) || !c.believes(object) {
		return false
	}
	if c.hasContract(intent) && len(c.lost(object)) > 0 {
		return false
	}
	if c.gaveWayBefore() {
		return c.stillGivesWay(ctx, object)
	}
	exactly, by, err := c.prove(ctx, c.intent, object)
	if err != nil {
		c.log.V(1).Info("not steady", "because", c.intent.whyNot(err))
		return false
	}
	shared := c.sharedIn(object, c.intent.subresource)
	c.tellShared(shared)
	if now, ok := c.fingerprint(object, by); ok {
		now.onlyThis, now.shared = !exactly, shared
		s.proven.Put(c.provenAs, now)
	}
	c.ref = refOf(c.ref, object)
	return true
}

func refOf(ref ObjectRef, object client.Object) ObjectRef {
	ref.UID, ref.ResourceVersion = object.GetUID(), object.GetResourceVersion()
	return ref
}

// look gives the object as the caller or the cache has it, and nil where nobody has.
// What it gives may be the cache's own and is never written to.
func (c *call) look(ctx context.Context, given client.Object) client.Object {
	if c.looked == nil && isRead(given, c.ref) {
		c.looked = given
	}
	if c.looked != nil || given != nil {
		return c.looked
	}
	object := c.emptyObject()
	shared := client.GetOptions{UnsafeDisableDeepCopy: new(true)}
	if err := c.readFrom(ctx, c.config.Steady.reads, object, &shared); err != nil {
		return nil // apply tells what is wrong
	}
	c.looked = object
	return object
}

func isRead(given client.Object, ref ObjectRef) bool {
	at := reflect.ValueOf(given)
	return at.Kind() == reflect.Pointer && !at.IsNil() && client.ObjectKeyFromObject(given) == ref.NamespacedName
}

// ReadBy gives the same check, with the same memory, that reads objects by another
// reader, such as one that hides objects which an applier is not to write to: what is
// not read is not proven. nil stays nil.
func (s *SteadyState) ReadBy(reader client.Reader) *SteadyState {
	if s == nil {
		return nil
	}
	other := *s
	other.reads = s.reads.by(reader)
	return &other
}

// request gives what is applied as the proof wants it; config may be nil.
func (c *call) request(config map[string]any) steady.Request {
	return steady.Request{
		Manager:     c.config.FieldManager,
		Subresource: c.provenAs.Subresource,
		Kind:        c.ref.GroupVersionKind,
		Config:      config,
		GoType:      c.client.Scheme().AllKnownTypes()[c.ref.GroupVersionKind],
	}
}

func (c *call) asRead(object client.Object) (steady.Read, error) {
	kind, err := c.client.GroupVersionKindFor(object)
	return steady.Read{Object: object, Kind: kind}, err
}

// prove proves of the object what is left of the intent, by the server's schemas.
func (c *call) prove(ctx context.Context, form *encodedIntent, object client.Object) (exactly bool, by *schemas.Known, err error) {
	read, err := c.asRead(object)
	if err != nil {
		return false, nil, err
	}
	request := c.request(form.object)
	if err := request.Compare(read); err != nil { // no schema is asked for in vain
		return false, nil, err
	}
	by, err = c.config.Steady.schemas.Of(ctx, c.ref.GroupVersion())
	if err != nil {
		return false, nil, err
	}
	exactly, err = request.Prove(read, by.Converter)
	return exactly, by, err
}

// fingerprint takes that of an object, where what it depends on can be seen.
func (c *call) fingerprint(object client.Object, by *schemas.Known) (now *proven, ok bool) {
	read, err := c.asRead(object)
	if err != nil {
		return nil, false
	}
	found, ok := c.config.Steady.prints.Of(c.request(nil), read, by.Converter)
	return &proven{Print: found, schema: by}, ok
}
