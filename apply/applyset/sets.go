// Package applyset applies the objects that a parent emits, and deletes the objects that the parent
// emitted before and no longer emits, by the rules of KEP-3659.
//
// # What the package promises
//
//  1. No object is orphaned, even if the process dies at any step: the kind and namespace of a
//     member are recorded in the parent's annotations before the member is applied.
//  2. A label alone deletes nothing. A member is deleted if the Applier's field manager owns the
//     member's set label, and the member has no owner or the parent is one of its owners. The delete
//     request has preconditions: the uid and resourceVersion that were checked. Members that are not
//     deleted are returned with the reason.
//  3. Nothing is deleted unless all emitted intents were applied, and a live read shows that the
//     parent has not changed since the intents were emitted.
//  4. An object is in at most one set, and a set has one field manager.
//  5. If a partial intent (MustExist or a Subresource) is no longer emitted, its fields are
//     released, but the object is not deleted.
//  6. If nothing changes, a round sends no requests.
//
// Errors are those of package apply, and a PruneError that lists them.
//
// # What the caller does
//
//  1. Emits all objects of the parent in each round, or returns an error. Objects that are left out
//     are deleted.
//  2. Uses one Sets for each field manager, in one process at a time, and applies the rounds of a
//     parent one after the other.
//  3. Adds a finalizer to the parent, and calls Sets.Delete before removing the finalizer.
//
// Valid:
//
//	sets, err := applyset.New(applier)
//	round := sets.Apply(ctx, parent, func() ([]apply.Intent, error) { return emit(parent) })
//	if len(round.Errs) == 0 {
//		pruned, err := round.Prune(ctx)
//	}
//
// Invalid: an emit that leaves out an object because a lookup failed. The object would be deleted.
// If emit returns the error instead, nothing is deleted.
//
// Invalid: two Sets under one field manager for the parents of one kind, in two processes that run at
// the same time. Both may apply the same object, and each then overwrites the label of the other's set.
package applyset

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/lanes"
	"coapply.dev/fieldowners"
	"coapply.dev/internal/recent"
)

// Sets manages the ApplySets of parents: it applies the objects that a parent emits, and deletes
// the objects that the parent emitted before and no longer emits. A label of each member is the id of
// the parent's set. The parent's label and annotations are the id, and the members' kinds and namespaces.
//
// Each intent makes its object a member, whoever created the object, unless the intent is partial
// (MustExist or a Subresource). A partial intent adds fields to an object that someone else
// creates: the object gets no label and is never deleted. An annotation of the parent names the
// object. When the intent is no longer emitted, Prune releases its fields, as apply.Applier.Release
// does. A round has at most one intent for an object or subresource.
//
// Before the first write to a member in this process, the member is read live. If the member has the
// label of another set, the error is a RefusedError until the other set has pruned the member or the
// label is removed. A second reconciler that prunes for the same parent also gets a RefusedError.
// Objects that were emitted before the parent had a set are not members.
//
// Cost in addition to the applies:
//   - For each member, a read of its metadata before the first write in a process and after an error.
//   - For each parent and process, one read of the parent, and one list request for each recorded kind
//     and namespace. The list requests are repeated if an object is no longer emitted. While objects are
//     kept, they are also repeated, in the end every ten minutes.
//   - A write to the parent before the first and after the last member of a kind and namespace, and
//     before the first and after the last partial intent for an object.
//
// Required permissions: get and patch of parents; get, list and delete of members.
type Sets struct {
	members *apply.Applier                     // applies the intents
	parents *apply.Applier                     // writes the set's label and annotations, under its own field manager
	known   *recent.Cache[types.UID, knownSet] // by the parent's uid: the last known state of the parent's set
	latest  *recent.Cache[types.UID, *Round]   // by the parent's uid: the round that began last
	holders *recent.Cache[lanes.Key, string]   // by object: the id of the set that applied the object last
	holding *lanes.Set                         // locks a member from the read of its label to the end of the apply
}

// Minimum numbers of parents and members in the caches of Sets. Evicted ones are read again when needed.
const (
	knownSets    = 4096
	knownMembers = 1 << 16
)

// New returns a Sets that applies members with the applier. A conflict over the set's label is always
// rejected, whatever the applier's policy is.
func New(applier *apply.Applier) (*Sets, error) {
	if applier == nil {
		return nil, errors.New("applyset: the applier must not be nil")
	}
	config := applier.Config()
	config.Policy = config.Policy.Never(partOfPath.String()) // the label identifies the set of the object
	members, err := apply.New(applier.Client(), config)
	if err != nil {
		return nil, err
	}
	parents, err := apply.New(applier.Client(), apply.Config{
		FieldManager: parentManager(config.FieldManager), Policy: apply.OnConflict(apply.Reject).At(partialsPath.String(), apply.Force),
		LiveReader: config.LiveReader, Metrics: config.Metrics, Lanes: config.Lanes,
	})
	if err != nil {
		return nil, err
	}
	return &Sets{
		members: members, parents: parents,
		holding: lanes.New(), known: recent.New[types.UID, knownSet](knownSets), latest: recent.New[types.UID, *Round](knownSets),
		holders: recent.New[lanes.Key, string](knownMembers),
	}, nil
}

var partOfPath = fieldowners.MustParsePath(fmt.Sprintf(".metadata.labels[%q]", PartOfLabel))

// parentManager returns the field manager for the set's label and annotations on parents. It differs
// from the applier's field manager, which may own other fields of a parent.
func parentManager(fieldManager string) string {
	const suffix = "-applyset"
	length := min(len(fieldManager), fieldManagerLimit-len(suffix))
	return strings.ToValidUTF8(fieldManager[:length], "") + suffix
}

const fieldManagerLimit = 128

// knownSet is the state of a parent's set that this process remembers, to save requests.
type knownSet struct {
	record  record              // the set's label and annotations on the parent
	applied sets.Set[lanes.Key] // the members that this process has applied
	// complete means that the set has no members except those in applied and the kept objects.
	complete bool
	lookout  lookout  // the kept objects
	partials partials // the partial intents in the annotation that this process wrote to the parent
}

// Round is the result of Sets.Apply: the outcome of each intent that a parent emitted. Call Prune next.
type Round struct {
	Outcomes []apply.Outcome // one for each intent, in the same order; empty if no intent was applied
	Errs     []error         // the errors of emit, of writing the parent, and of each intent; none is nil

	sets       *Sets
	parent     apply.ObjectRef
	read       record // the record on the parent as passed to Sets.Apply
	generation int64  // the generation of the parent as passed to Sets.Apply
	version    string // the parent's resourceVersion as passed in, or after our own write; "" if not known
	own        record // the record that this set needs on the parent, without kinds and namespaces
	recorded   record // the parent's live record, set by announce
	emitted    scope  // the kinds and namespaces of the members
	members    sets.Set[lanes.Key]
	intents    sets.Set[intentKey]
	partial    partials            // the partial intents of this round
	named      partials            // the partial intents in the parent's annotation, set by announce
	emittedAs  map[types.UID]bool  // the applied objects: true for a member, false for a partial intent
	taken      map[lanes.Key]error // the objects of someone else (apply.ErrNotOurs), with the error
	complete   bool                // whether all emitted intents were applied
}

// Apply emits and applies the intents of a parent. It first records in the parent the kinds and
// namespaces of the members. It then applies the intents in their order, even if some of them fail,
// and adds the set's label to the members. If emit fails, nothing is written. If the parent cannot
// be written, no intent is applied. The parent may come from a cache; Apply does not change it.
//
// Round.Errs has errors as returned by apply.Applier.Apply. In addition, a *RefusedError means that the
// parent has the set of another tool or field manager, or that an object is a member of another set. An
// *IntentError also means that there is a second intent for the same object.
func (s *Sets) Apply(ctx context.Context, parent client.Object, emit func() ([]apply.Intent, error)) *Round {
	r := s.newRound()
	if err := r.identify(parent); err != nil {
		return r.failed(err)
	}
	s.latest.Put(r.parent.UID, r)
	if emit == nil {
		return r.failed(&apply.IntentError{Object: r.parent, Err: errors.New("the function emit is nil")})
	}
	intents, err := emit()
	if err != nil {
		return r.failed(fmt.Errorf("computing the intents: %w", err))
	}
	prepared := make([]preparedIntent, 0, len(intents))
	for _, intent := range intents {
		prepared = append(prepared, r.prepare(intent))
	}
	if err := r.announce(ctx); err != nil {
		return r.failed(err)
	}
	for _, one := range prepared {
		outcome, err := r.apply(ctx, one)
		r.Outcomes = append(r.Outcomes, outcome)
		if err != nil {
			r.failed(err)
		}
	}
	r.complete = len(r.Errs) == 0
	return r
}

func (s *Sets) newRound() *Round {
	return &Round{
		sets: s, emitted: newScope(), members: sets.Set[lanes.Key]{},
		intents: sets.New[intentKey](), partial: partials{}, emittedAs: map[types.UID]bool{}, taken: map[lanes.Key]error{},
	}
}

func (r *Round) failed(err error) *Round {
	r.Errs = append(r.Errs, err)
	return r
}

func (r *Round) identify(parent client.Object) error {
	if v := reflect.ValueOf(parent); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return &apply.IntentError{Err: fmt.Errorf("the parent of the set is %T(nil)", parent)}
	}
	kind, err := r.sets.parents.Client().GroupVersionKindFor(parent)
	if err != nil {
		return &apply.IntentError{Err: fmt.Errorf("looking up the kind of the set's parent: %w", err)}
	}
	r.parent = apply.ObjectRef{GroupVersionKind: kind, NamespacedName: client.ObjectKeyFromObject(parent), UID: parent.GetUID()}
	if r.parent.UID == "" {
		return &apply.IntentError{Object: r.parent, Err: errors.New("the parent of a set needs its uid: pass the object as it was read")}
	}
	r.read, r.generation, r.version = recordOf(parent), parent.GetGeneration(), parent.GetResourceVersion()
	if r.generation == 0 && r.version == "" {
		return &apply.IntentError{Object: r.parent, Err: errors.New(
			"the parent of a set needs its resourceVersion, as it has no generation: pass the object as it was read")}
	}
	r.own = record{id: ID(r.parent), tooling: r.sets.members.FieldManager() + "/v1"}
	return nil
}
