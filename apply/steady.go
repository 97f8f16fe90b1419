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

	"coapply.dev/apply/internal/cacheread"
	"coapply.dev/apply/internal/gotypes"
	"coapply.dev/apply/internal/ledger"
	"coapply.dev/apply/internal/schemas"
	"coapply.dev/apply/internal/steady"
	"coapply.dev/fieldowners"
	"coapply.dev/internal/recent"
)

// SteadyState proves, without a request, that applying an intent would change nothing. Intents without a proof are
// sent. All Appliers of a process share one SteadyState.
//
// The proof compares the intent with the cached object, using the API server's schema of the kind. The Applier's field
// manager must have exactly one managed fields entry in the object, with exactly the fields that the API server would
// compute from the intent. Merging the intent into the object must change no value. If the Go type of the kind is the
// API server's own, two differences are allowed. A field that only this manager owns may have another notation, such as
// 1000m instead of 1. A value that is owned as a whole may have defaults that the API server has added.
//
// A typed read of a custom resource may not show the stored form of a value. If the stored time is
// 2026-01-02T03:04:05.6Z, metav1.Time shows 03:04:05Z. If the stored quantity is 1000m, resource.Quantity shows 1. The
// cached object then cannot prove that a field is unchanged. Instead, the proof uses the API server's response to a
// write of this process, and is valid while the object has the resourceVersion of that response. The proof for an
// intent that owns no field also uses a response, because the cached object has no managed fields entry to compare.
// Intents with a proof from a response are sent once more after a restart, and after each write of another writer.
//
// The stringData of a Secret is compared with the data into which the API server converts it. The empty strategy of a
// Deployment or DaemonSet is compared with the API server's default.
//
// These intents are sent each time:
//   - an intent with a field that the Go type of a built-in kind lacks, such as a field of a newer server. To avoid
//     this, update the Go type or read the kind as unstructured objects;
//   - an intent that sets a map to {} or null, if the object has fields without an owner in that map. Such fields
//     are defaults that the proof does not know. Examples are the updateStrategy of a StatefulSet and the
//     defaults of a CustomResourceDefinition;
//   - an intent with stringData, if one of its keys is also in data, or if data is set and empty;
//   - an intent that sets a status but is not sent to the status subresource;
//   - an intent with a value that mutating admission has changed.
//
// A proof is remembered as a few hashes. While the object does not change, a look-up is enough. After a change by
// another writer, only the fields of the Applier's field manager are hashed again. After a restart, the proofs are
// computed again from the cache, without a request.
//
// Mutating admission is not part of the proof. A webhook that was added after the proof changes the object only at the
// next write.
//
// SteadyState needs about 650 bytes of memory for each intent. The number of remembered intents is bounded.
type SteadyState struct {
	reads   *cacheread.Reads
	schemas *schemas.Set
	proven  *recent.Cache[steady.Key, *proven]
	ledger  *ledger.Ledger
}

const rememberedIntents = 1 << 16

// proven is a remembered proof that applying an intent would change nothing. It contains the schema that the proof
// used.
type proven struct {
	*steady.Print

	schema *schemas.Known
	gave   *conceded // the relinquished and shared fields; nil if there are none
}

// conceded describes the relinquished and shared fields of a remembered proof. They are the same as long as the
// managed fields entries of all other managers and the values of the owners' fields are the same.
type conceded struct {
	by        *Applier // whose policy has decided
	others    uint64   // see steady.Request.HashOthers; 0 if the proof is valid for its resourceVersion only
	conflicts []Conflict
	unread    []*fieldowners.EntryError
}

// hashOthers returns the hash of what a proof with the given conflicts depends on, or 0 if it is not known.
func (c *call) hashOthers(read steady.Read, conflicts []Conflict) uint64 {
	return c.asApplied(nil).HashOthers(read, func(entry metav1.ManagedFieldsEntry) bool {
		owner := fieldowners.Manager{Name: entry.Manager, Operation: entry.Operation, Subresource: entry.Subresource}
		return slices.ContainsFunc(conflicts, func(conflict Conflict) bool { return conflict.Manager.SameWriter(owner) })
	})
}

// NewSteadyState returns a SteadyState that reads objects with the given reader. The reader must read from a cache,
// such as mgr.GetCache(). A manager's client reads unstructured objects from the API server, with one request for each
// apply, unless client.CacheOptions.Unstructured is set. Objects are read as typed objects if the client's scheme has
// the kind, and otherwise as unstructured objects. They are not copied.
//
// A read starts an informer if the cache has none for the kind, unless cache.Options.ReaderFailOnMissingInformer is
// set. The informer needs permission to list and watch. If the cache does not return an object within a second, all
// intents of the kind are sent. The cache is then tried again once a minute, and the log says once which permission
// may be missing.
//
// The argument server is the result of discoveryClient.OpenAPIV3(). The schema of a group and version is fetched once,
// in the background, and checked every ten minutes. The first applies of a group and version wait for the schema for at
// most a second, so that no needless applies are sent after a restart. After that second, and after a failure, intents
// whose schema is not known are sent. A known schema is trusted until a check shows that the API server has another
// schema. Each request for a schema runs in its own goroutine. This goroutine ends after at most ten seconds if the
// openapi.Client honours contexts, as the client of a discovery client does.
func NewSteadyState(reader client.Reader, server openapi.Client) (*SteadyState, error) {
	if reader == nil {
		return nil, errors.New("apply: NewSteadyState: a reader is needed, such as mgr.GetCache()")
	}
	if server == nil {
		return nil, errors.New("apply: NewSteadyState: the API server's schemas are needed, for example from discoveryClient.OpenAPIV3()")
	}
	return &SteadyState{
		reads:   cacheread.New(reader),
		schemas: schemas.New(server),
		proven:  recent.New[steady.Key, *proven](rememberedIntents),
		ledger:  ledger.New(rememberedIntents),
	}, nil
}

// Schemas returns the API server's schemas of a group and version. It is meant for the field Schemas of update.Config.
// The first calls for a group and version wait for the schemas, but for no more than about one second. Later calls, and
// calls after a failure, do not wait. They return an error until the schemas have arrived.
func (s *SteadyState) Schemas(ctx context.Context, version schema.GroupVersion) (managedfields.TypeConverter, error) {
	known, err := s.schemas.Of(ctx, version)
	if err != nil {
		return nil, err
	}
	return known.Converter, nil
}

// Wrote records a write by this process that did not go through an Applier, such as an update or a delete. From then
// on, SteadyState trusts a cached object only if its resourceVersion is at least object.ResourceVersion. If
// object.ResourceVersion is empty, the next apply to the object is sent. Leave it empty after a delete, or if the
// outcome of the write is unknown. For a nil SteadyState, Wrote does nothing.
func (s *SteadyState) Wrote(object ObjectRef) {
	if s == nil {
		return
	}
	s.ledger.Wrote(object.Key(), object.ResourceVersion)
}

// WroteAll records that this process deleted all objects of a kind in a namespace, or in the whole cluster if namespace
// is empty. The next apply to each of these objects is sent.
func (s *SteadyState) WroteAll(kind schema.GroupKind, namespace string) {
	s.ledger.WroteAll(kind, namespace)
}

// believes reports whether the object that was read includes all recorded writes of this process. If not, the object
// proves nothing about the current state.
func (c *call) believes(object client.Object) bool {
	return c.ledger.Shows(c.ref.Key(), c.writer(), object.GetResourceVersion())
}

// writer returns the Writer of this call's applies.
func (c *call) writer() ledger.Writer {
	return ledger.Writer{FieldManager: c.config.FieldManager, Subresource: c.intent.Subresource}
}

// proof is a proof that applying an intent would change nothing. The Outcome reports the fields of the proof.
type proof struct {
	object    ObjectRef
	conflicts []Conflict // the conflicts on fields that the policy relinquishes or shares
	unread    []*fieldowners.EntryError
}

// maySkip reports whether the call may skip its request if there is a proof. A dry run always sends its request,
// because its caller needs the API server's response. An apply through a subresource other than status is also always
// sent, because the object does not show the fields of the subresource.
func (c *call) maySkip() bool {
	return c.config.Steady != nil && !c.dryRun && !c.intent.hasBody() &&
		(c.intent.Subresource == "" || c.intent.Subresource == statusSubresource)
}

// steadyKey returns the key under which a proof is remembered that applying the intent changes nothing. For a call that
// always needs its request (see maySkip), it returns the zero key, and no proof is remembered.
func (c *call) steadyKey() (key steady.Key) {
	if c.maySkip() {
		key, _ = steady.KeyOf(c.intent.Config, c.config.FieldManager, c.intent.Subresource)
	}
	return key
}

// stillSteady returns the remembered proof of the intent if the proof is still valid: the object still has the
// resourceVersion of the proof, or this field manager's managed fields entry and the values of its fields have not
// changed.
func (c *call) stillSteady(ctx context.Context, key steady.Key) (found proof, ok bool) {
	s := c.config.Steady
	if key == (steady.Key{}) {
		return proof{}, false
	}
	before, ok := s.proven.Get(key)
	if !ok || !s.schemas.Good(ctx, before.schema, c.start) || before.gave != nil && before.gave.by != c.Applier {
		return proof{}, false
	}
	c.ref = ObjectRef{GroupVersionKind: before.Kind(), NamespacedName: before.Name}
	object := c.look(ctx)
	if object == nil || !before.IsOf(object, c.intent.UID) || !c.takes(object) || !c.believes(object) {
		return proof{}, false
	}
	if object.GetResourceVersion() != before.ResourceVersion {
		if !c.holdsStill(key, before, object) {
			return proof{}, false
		}
	}
	found = proof{object: c.ref.as(object)}
	if before.gave != nil {
		found.unread = before.gave.unread
		for _, conflict := range before.gave.conflicts {
			conflict.Object.ResourceVersion = object.GetResourceVersion()
			found.conflicts = append(found.conflicts, conflict)
		}
	}
	return found, true
}

// holdsStill reports whether a remembered proof is also valid for object, a later version of the same object. If so, it
// remembers the proof for the later version.
func (c *call) holdsStill(key steady.Key, before *proven, object client.Object) bool {
	read := c.asRead(object)
	now := &proven{Print: c.asApplied(nil).PrintOf(read), schema: before.schema, gave: before.gave}
	if !before.HoldsFor(now.Print) {
		return false
	}
	if gave := before.gave; gave != nil && (gave.others == 0 || gave.others != c.hashOthers(read, gave.conflicts)) {
		return false
	}
	c.config.Steady.proven.Put(key, now)
	return true
}

// becomesSteady tries to prove by the cached object that applying the intent would change nothing, and keeps the proof.
func (c *call) becomesSteady(ctx context.Context, key steady.Key) (found proof, ok bool) {
	if !c.maySkip() {
		return proof{}, false
	}
	object := c.look(ctx)
	if object == nil || c.target.uid != "" && c.target.uid != object.GetUID() || !c.takes(object) || !c.believes(object) {
		return proof{}, false
	}
	now, err := c.prove(ctx, c.intent, c.asRead(object))
	if err != nil {
		if c.mayGiveWay {
			if found, ok := c.stillGivesWay(ctx, key, object); ok {
				return found, true
			}
		}
		c.log.V(1).Info("cannot prove that applying the intent changes nothing, so the intent is sent", "because", c.intent.whyNot(err))
		return proof{}, false
	}
	c.config.Steady.proven.Put(key, now)
	return proof{object: c.ref.as(object)}, true
}

// look returns Intent.Read if it is set, and otherwise the cached object. It returns nil if neither exists. The caller must not change the object, because it may belong to the cache.
func (c *call) look(ctx context.Context) client.Object {
	given := c.intent.Read
	if c.target.read == nil && isRead(given, c.ref) {
		c.target.read = given
	}
	if c.target.read != nil || given != nil {
		return c.target.read
	}
	object := c.emptyObject()
	if err := c.config.Steady.reads.Get(ctx, c.ref.GroupVersionKind, c.ref.NamespacedName, object, c.resource, withoutCopy...); err != nil {
		return nil // the intent is then sent, and the response shows the error
	}
	c.target.read = object
	return object
}

// withoutCopy is the option by which a read returns the cache's own object and not a copy.
var withoutCopy = []client.GetOption{&client.GetOptions{UnsafeDisableDeepCopy: new(true)}}

func isRead(given client.Object, ref ObjectRef) bool {
	at := reflect.ValueOf(given)
	return at.Kind() == reflect.Pointer && !at.IsNil() && client.ObjectKeyFromObject(given) == ref.NamespacedName
}

// ReadBy returns a SteadyState that reads objects with another reader, and shares the remembered proofs with s. Use a
// reader that hides the objects to which an Applier must not write. An intent for a hidden object has no proof, so it
// is sent, and the Applier's client can refuse the write. For a nil SteadyState, ReadBy returns nil.
func (s *SteadyState) ReadBy(reader client.Reader) *SteadyState {
	if s == nil {
		return nil
	}
	other := *s
	other.reads = s.reads.By(reader)
	return &other
}

// asApplied returns the steady.Request for an apply of the given configuration, which may be nil if only the field
// manager's managed fields entry is compared.
func (c *call) asApplied(config map[string]any) steady.Request {
	return steady.Request{
		Manager:     c.config.FieldManager,
		Subresource: c.intent.Subresource,
		Kind:        c.ref.GroupVersionKind,
		Config:      config,
		GoType:      c.goType(),
	}
}

// asRead returns the steady.Read of an object. If the kind of its Go type is not known, nothing can be proven from it.
func (c *call) asRead(object client.Object) steady.Read {
	kind, _ := c.client.GroupVersionKindFor(object)
	return steady.Read{Object: object, Kind: kind}
}

// prove tries to prove, with the API server's schema, that applying the intent would not change the object. The error
// says why there is no proof.
func (c *call) prove(ctx context.Context, form *encodedIntent, read steady.Read) (*proven, error) {
	var by *schemas.Known
	found, err := c.asApplied(form.Fields).Prove(read, func() (_ managedfields.TypeConverter, err error) {
		if by, err = c.config.Steady.schemas.Of(ctx, c.ref.GroupVersion()); err != nil {
			return nil, err
		}
		return by.Converter, nil
	})
	if err != nil {
		return nil, err
	}
	return &proven{Print: found, schema: by}, nil
}

// steadyByAnswer remembers that applying the intent again would change nothing, if the API server's response to a write
// proves this. It does so only if the cached object cannot provide the proof. This is the case for a Go type that may
// not show the stored form of a time or a quantity. It is also the case for an intent that owns no field, for example
// because all fields were relinquished. The proof is valid only while the object has the resourceVersion of the response.
func (c *call) steadyByAnswer(ctx context.Context, key steady.Key, landed *answer) {
	if key == (steady.Key{}) || (landed.sent != c.intent || !c.readsMayHide()) && !c.ownsNothing(landed) {
		return
	}
	object := landed.response.Object()
	read := steady.Read{Object: object, Kind: object.GroupVersionKind(), Answer: true}
	now, err := c.prove(ctx, landed.sent, read)
	if err != nil {
		c.log.V(1).Info("cannot prove from the API server's response that another apply changes nothing, so the next apply is sent", "because", c.intent.whyNot(err))
		return
	}
	if landed.sent != c.intent {
		if slices.ContainsFunc(c.outcome.Conflicts, func(decided Conflict) bool { return decided.Object.ResourceVersion != object.GetResourceVersion() }) {
			return // the conflicts may have ended since the decision
		}
		now.gave = &conceded{c.Applier, 0, c.outcome.Conflicts, c.outcome.Unread}
	}
	c.config.Steady.proven.Put(key, now)
}

// readsMayHide reports whether a typed read of the call's kind may not show the stored form of a value, such as 1000m
// for 1. Unstructured reads show every stored value, and so do the API server's own Go types.
func (c *call) readsMayHide() bool {
	return c.goType() != nil && !gotypes.IsServersOwn(c.ref.GroupVersionKind, c.goType())
}

// goType returns the Go type that the client's scheme has for the object's kind, or nil.
func (c *call) goType() reflect.Type {
	return c.client.Scheme().AllKnownTypes()[c.ref.GroupVersionKind]
}

// ownsNothing reports whether, according to the response, this field manager owns no field of the object.
func (c *call) ownsNothing(landed *answer) bool {
	return !slices.ContainsFunc(landed.head().ManagedFields, func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager == c.config.FieldManager && e.Operation == metav1.ManagedFieldsOperationApply && e.Subresource == c.intent.Subresource
	})
}
