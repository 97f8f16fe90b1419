package apply

import (
	"context"
	"errors"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/openapi"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply/internal/gotypes"
	"coapply.dev/apply/internal/schemas"
	"coapply.dev/apply/internal/steady"
	"coapply.dev/fieldowners"
	"coapply.dev/internal/recent"
)

// SteadyState proves, without a request, that applying an intent would change nothing. All appliers
// of a process share one SteadyState. An intent without a proof is sent.
//
// The proof compares the intent with the object as read, by the API server's own schema. This field
// manager must have exactly one managed fields entry, with exactly the fields that the API server
// would compute from the intent. Merging the intent into the object must change no value. For a
// kind whose Go type is the API server's own, two differences are allowed: another notation, such
// as 1000m instead of 1, if nobody shares the field, and defaults that the API server adds to a
// value that is owned as a whole.
//
// A typed read of a custom resource may not show the stored form of a value. For the stored time
// 2026-01-02T03:04:05.6Z, the Go type shows 03:04:05Z, as in conditions. For the stored quantity
// 1000m, the Go type shows 1. Such a read cannot prove that a field is unchanged. The API server's
// response to a write of this process proves this instead, for the resourceVersion of the response.
// The response also proves an intent that owns nothing, which has no managed fields entry that a read
// could show. An intent that only a response proves is sent once more after a restart, and after each
// write of another writer. The proof by response needs RecordExchange, or unstructured intents.
//
// The stringData of a Secret is compared with the data into which the API server converts it. The
// empty strategy of a Deployment or DaemonSet is compared with the API server's default.
//
// These intents are sent each time:
//   - an intent with a field that the Go type of a built-in kind lacks, such as a field of a newer
//     server. An update of the Go type or an unstructured read avoids this;
//   - an intent that sets a map to {} or null, if the object has fields without an owner in that
//     map. Such fields are defaults that the check does not know. Examples are the updateStrategy
//     of a StatefulSet, whose default depends on a feature gate, and the defaults of a
//     CustomResourceDefinition;
//   - an intent with stringData, if one of the keys is also in data, or if data is set and empty;
//   - an intent that sets a status but is not sent to the status subresource.
//
// A proof is remembered as a few hashes. If the object has not changed since, a look-up is enough.
// If other writers changed the object, only this field manager's fields are hashed again. After a
// restart, the proofs are computed again, without a request.
//
// Mutating admission is not part of the proof. A webhook that was added after the proof changes the
// object only at the next write. An intent whose values admission has changed is sent each time.
//
// The memory takes about 250 bytes for each intent, and is bounded.
type SteadyState struct {
	reads   *cacheReads
	schemas *schemas.Set
	proven  *recent.Cache[steady.Key, *proven]
	written *ledger
}

// rememberedIntents is the minimum number of intents whose proofs a SteadyState remembers.
const rememberedIntents = 1 << 16

// proven is a remembered proof for an intent, with the API server's schema that the proof used.
type proven struct {
	*steady.Print

	schema *schemas.Known
}

// NewSteadyState returns a SteadyState. reader reads from a cache: mgr.GetCache(), or a client that
// reads from the cache. Objects are read without being copied, typed if the client's scheme knows
// the kind, otherwise as unstructured. (A manager's client reads unstructured objects from the API
// server, with a request for each apply, unless client.CacheOptions.Unstructured is set.) Like any
// read of that cache, the read starts an informer if there is none, which needs list and watch,
// unless cache.Options.ReaderFailOnMissingInformer is set. If the cache does not answer within a
// second, all intents of the kind are sent. The cache is then asked again every minute, and the log
// says once which right may be missing.
//
// server is discoveryClient.OpenAPIV3(). The schema of a group and version is fetched once, in the
// background, and checked every ten minutes. The first applies of a group and version wait for its
// schema, at most a second, so that nothing is sent after a restart. After that second, and after a
// failure, intents whose schema is not known are sent. A known schema is trusted until the API server
// is seen to have another one. Each request for a schema runs in a goroutine that ends with it, within
// ten seconds if the openapi.Client honours contexts, as that of a discovery client does.
func NewSteadyState(reader client.Reader, server openapi.Client) (*SteadyState, error) {
	if reader == nil {
		return nil, errors.New("apply: NewSteadyState: a reader is needed, such as mgr.GetCache()")
	}
	if server == nil {
		return nil, errors.New("apply: NewSteadyState: the API server's schemas are needed, for example from discoveryClient.OpenAPIV3()")
	}
	return &SteadyState{
		reads:   newCacheReads(reader),
		schemas: schemas.New(server),
		proven:  recent.New[steady.Key, *proven](rememberedIntents),
		written: &ledger{records: recent.New[writtenKey, written](rememberedIntents)},
	}, nil
}

// Schemas returns the API server's schemas of a group and version, for update.Config. The first calls
// for a group and version wait for the API server's response, for about one second at most. Later
// calls, and calls after a failure, do not wait, and return an error until the schemas have arrived.
func (s *SteadyState) Schemas(ctx context.Context, version schema.GroupVersion) (managedfields.TypeConverter, error) {
	known, err := s.schemas.Of(ctx, version)
	if err != nil {
		return nil, err
	}
	return known.Converter, nil
}

// proof is the result of a successful proof that applying an intent would change nothing.
type proof struct {
	object    ObjectRef
	conflicts []Conflict // the conflicts that the policy relinquishes or shares
	unread    []*fieldowners.EntryError
}

// maySkip reports whether a proof may replace a request. It returns false for a dry run, which needs
// the API server's response, and for subresources other than status, whose fields the object lacks.
func (c *call) maySkip(intent Intent) bool {
	return c.config.Steady != nil && !c.dryRun && intent.Body == nil &&
		(intent.Subresource == "" || intent.Subresource == statusSubresource)
}

// steadyKey returns the key under which the intent's proof is remembered. The key is zero for an
// intent whose proof is not remembered.
func (c *call) steadyKey(intent Intent) (key steady.Key) {
	if c.maySkip(intent) {
		key, _ = steady.KeyOf(intent.Config, c.config.FieldManager, intent.Subresource)
	}
	return key
}

// stillSteady looks up the remembered proof of the intent, and returns it if it is still valid:
// either the object has not changed since, or this field manager's entry and values have not.
func (c *call) stillSteady(ctx context.Context, key steady.Key, intent Intent) (found proof, ok bool) {
	s := c.config.Steady
	if key == (steady.Key{}) {
		return proof{}, false
	}
	before, ok := s.proven.Get(key)
	if !ok || !s.schemas.Good(ctx, before.schema, c.start) {
		return proof{}, false
	}
	c.ref = ObjectRef{GroupVersionKind: before.Kind(), NamespacedName: before.Name}
	object := c.look(ctx, intent.Read)
	if object == nil || !before.IsOf(object, intent.UID) || !c.takes(intent, object) || !c.believes(object, intent.Subresource) {
		return proof{}, false
	}
	if object.GetResourceVersion() != before.ResourceVersion {
		if !c.holdsStill(key, before, object) {
			return proof{}, false
		}
	}
	return proof{object: refOf(c.ref, object)}, true
}

// holdsStill reports whether a remembered proof is also valid for object, which is a later version.
// If so, it remembers the proof for that version.
func (c *call) holdsStill(key steady.Key, before *proven, object client.Object) bool {
	read, err := c.asRead(object)
	if err != nil {
		return false
	}
	now := &proven{Print: c.asApplied(nil, key.Subresource).PrintOf(read), schema: before.schema}
	if !before.HoldsFor(now.Print) {
		return false
	}
	c.config.Steady.proven.Put(key, now)
	return true
}

// becomesSteady tries to prove that applying the intent would change nothing. It remembers the proof.
func (c *call) becomesSteady(ctx context.Context, key steady.Key) (found proof, ok bool) {
	if !c.maySkip(c.intent.Intent) {
		return proof{}, false
	}
	object := c.look(ctx, c.intent.Read)
	if object == nil || c.target.uid != "" && c.target.uid != object.GetUID() || !c.takes(c.intent.Intent, object) || !c.believes(object, c.intent.Subresource) {
		return proof{}, false
	}
	now, err := c.prove(ctx, c.intent, object)
	if err != nil {
		if found, ok := c.stillGivesWay(ctx, object); ok {
			return found, true
		}
		c.log.V(1).Info("not steady: an apply may change the object", "because", c.intent.whyNot(err))
		return proof{}, false
	}
	c.config.Steady.proven.Put(key, now)
	return proof{object: refOf(c.ref, object)}, true
}

func refOf(ref ObjectRef, object client.Object) ObjectRef {
	ref.UID, ref.ResourceVersion = object.GetUID(), object.GetResourceVersion()
	return ref
}

// look returns Intent.Read or, if the caller gave none, the cached object. It returns nil if there
// is no such object. The object may be the cache's own, so it must not be written to.
func (c *call) look(ctx context.Context, given client.Object) client.Object {
	if c.target.read == nil && isRead(given, c.ref) {
		c.target.read = given
	}
	if c.target.read != nil || given != nil {
		return c.target.read
	}
	object := c.emptyObject()
	if err := c.readFrom(ctx, c.config.Steady.reads, object, withoutCopy...); err != nil {
		return nil // the apply that follows returns the error
	}
	c.target.read = object
	return object
}

// withoutCopy makes a read return the cache's own object.
var withoutCopy = []client.GetOption{&client.GetOptions{UnsafeDisableDeepCopy: new(true)}}

func isRead(given client.Object, ref ObjectRef) bool {
	at := reflect.ValueOf(given)
	return at.Kind() == reflect.Pointer && !at.IsNil() && client.ObjectKeyFromObject(given) == ref.NamespacedName
}

// ReadBy returns a SteadyState that reads objects with another reader and shares the remembered
// proofs. An intent is sent if the reader returns no object, so a reader may hide objects to which
// an applier must not write. For a nil SteadyState, ReadBy returns nil.
func (s *SteadyState) ReadBy(reader client.Reader) *SteadyState {
	if s == nil {
		return nil
	}
	other := *s
	other.reads = s.reads.by(reader)
	return &other
}

// asApplied returns the steady.Request for an apply of config through a subresource. config is nil
// if only the field manager's entry is compared.
func (c *call) asApplied(config map[string]any, subresource string) steady.Request {
	return steady.Request{
		Manager:     c.config.FieldManager,
		Subresource: subresource,
		Kind:        c.ref.GroupVersionKind,
		Config:      config,
		GoType:      c.client.Scheme().AllKnownTypes()[c.ref.GroupVersionKind],
	}
}

func (c *call) asRead(object client.Object) (steady.Read, error) {
	kind, err := c.client.GroupVersionKindFor(object)
	return steady.Read{Object: object, Kind: kind}, err
}

// prove proves, by the API server's schema, that applying form would not change the object. If
// there is no proof, the error is the reason.
func (c *call) prove(ctx context.Context, form *encodedIntent, object client.Object) (*proven, error) {
	read, err := c.asRead(object)
	if err != nil {
		return nil, err
	}
	return c.proveBy(ctx, form, read)
}

func (c *call) proveBy(ctx context.Context, form *encodedIntent, read steady.Read) (*proven, error) {
	request := c.asApplied(form.object, form.Subresource)
	if err := request.Compare(read); err != nil { // needs no schema
		return nil, err
	}
	by, err := c.config.Steady.schemas.Of(ctx, c.ref.GroupVersion())
	if err != nil {
		return nil, err
	}
	found, err := request.Prove(read, by.Converter)
	if err != nil {
		return nil, err
	}
	return &proven{Print: found, schema: by}, nil
}

// steadyByAnswer remembers a proof that applying the intent again would change nothing, made from the
// API server's response to a write. It does so only where a read may not prove this: for a Go type
// that does not show the stored form of a time or a quantity, and for an intent that owns nothing, and
// so has no managed fields entry. The proof is valid for the resourceVersion of the response only.
func (c *call) steadyByAnswer(ctx context.Context, key steady.Key, landed *answer) {
	if key == (steady.Key{}) || landed.sent != c.intent || !c.readsMayHide() && !c.ownsNothing(landed) {
		return
	}
	object := landed.object()
	if object == nil {
		return
	}
	read := steady.Read{Object: object, Kind: object.GroupVersionKind(), Answer: true}
	now, err := c.proveBy(ctx, c.intent, read)
	if err != nil {
		c.log.V(1).Info("not steady by the API server's response", "because", c.intent.whyNot(err))
		return
	}
	c.config.Steady.proven.Put(key, now)
}

// readsMayHide reports whether a read into the client's Go type may not show the stored form of a
// value. An unstructured read shows every value, and so does the API server's own Go type.
func (c *call) readsMayHide() bool {
	goType := c.client.Scheme().AllKnownTypes()[c.ref.GroupVersionKind]
	return goType != nil && !gotypes.IsServersOwn(c.ref.GroupVersionKind, goType)
}

// ownsNothing reports whether this field manager owns no field, by the API server's response.
func (c *call) ownsNothing(landed *answer) bool {
	return !slices.ContainsFunc(landed.head().ManagedFields, func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager == c.config.FieldManager && e.Operation == metav1.ManagedFieldsOperationApply && e.Subresource == c.intent.Subresource
	})
}
