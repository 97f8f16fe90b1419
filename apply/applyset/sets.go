// Package applyset applies the objects that belong to a parent object, and deletes the objects that are no longer desired.
// It follows the rules of KEP-3659. The caller's function emit returns the intents for all objects of the parent. An object
// is no longer desired if an earlier call of emit returned an intent for the object, and the current call does not.
//
// # What the package promises
//
//  1. No object is orphaned, even if the process dies at any time. The kind and namespace of a member are recorded in the
//     parent's annotations before the member is applied.
//  2. No object is deleted only because it has the label of the set: anybody can copy a label (see Round.Prune). Objects that
//     are not deleted are returned with the reason.
//  3. Nothing is deleted unless all intents were applied, and a live read shows that the parent has not changed since the
//     intents were computed.
//  4. An object is in at most one set, and a set has one field manager.
//  5. If a partial intent (MustExist or a Subresource) is no longer desired, its fields are released, and the object is not
//     deleted.
//  6. If nothing changes, a round sends no requests.
//
// Errors are those of package apply, and a PruneError that contains such errors.
//
// # What the caller does
//
//  1. Return the intents for all objects of the parent in each round, or an error. Objects without an intent are deleted.
//  2. Use one Sets for each field manager, in one process at a time: two Sets could overwrite each other's label on an
//     object. Make the rounds of a parent one after the other.
//  3. Add a finalizer to the parent, and call Sets.Delete before removing the finalizer.
//
// Valid:
//
//	sets, err := applyset.New(applier)
//	round := sets.Apply(ctx, parent, func() ([]apply.Intent, error) { return emit(parent) })
//	if len(round.Errs) == 0 {
//		pruned, err := round.Prune(ctx)
//	}
//
// Invalid: emit leaves out an object because a lookup failed. The object would be deleted. If emit returns the error
// instead, nothing is deleted.
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

// Sets manages the ApplySets of parents: it applies the objects of a parent, and deletes the objects that are no longer
// desired. The id of the parent's set is the value of a label on each member and on the parent. The parent's
// annotations name the kinds and namespaces of the members.
//
// Each intent makes its object a member, whoever created the object, unless the intent is partial (MustExist or a
// Subresource). A partial intent adds fields to an object that someone else creates. The object gets no label and is
// never deleted. An annotation of the parent names the object. One Sets.Apply accepts at most one intent for each
// object, and for each subresource.
//
// If a member has the label of another set, the error is a RefusedError, until the other set has pruned the member or
// the label is removed. If a second reconciler, with another field manager, calls Sets.Apply for the same parent, the
// error is also a RefusedError. Objects that were applied before the parent had a set are not members.
//
// Requests in addition to the applies:
//   - For each member: a read of its metadata before the first write in a process, and after an error.
//   - For each parent and process: a read of the parent, and one list request for each recorded kind and namespace.
//     These requests are repeated when an object is no longer desired, and the list requests also while there are kept
//     objects (see Kept).
//   - A write to the parent before a kind or namespace gets its first member, and after it loses its last member. The
//     same applies to the first and the last partial intent for an object.
//
// Required permissions: get and patch of parents; get, list and delete of members.
type Sets struct {
	members *apply.Applier                     // applies the intents
	parents *apply.Applier                     // writes the label and annotations of parents, under a field manager of its own
	known   *recent.Cache[types.UID, knownSet] // by the uid of the parent: the known state of the parent's set
	latest  *recent.Cache[types.UID, *Round]   // by the uid of the parent: the round that began last
	holders *recent.Cache[lanes.Key, string]   // by object: the id of the set that contains the object
	holding *lanes.Set                         // by object: locks that are held from the read of a member's label to the end of the apply
}

// The capacities of the caches of Sets, in parents and in members. Evicted entries are read again when needed.
const (
	knownSets    = 4096
	knownMembers = 1 << 16
)

// New returns a Sets that applies the members with the applier. A conflict on the set's label is always rejected,
// whatever the applier's policy decides.
func New(applier *apply.Applier) (*Sets, error) {
	if applier == nil {
		return nil, errors.New("applyset: the applier must not be nil")
	}
	config := applier.Config()
	config.Policy = config.Policy.Never(partOfPath.String()) // because the label identifies the set that contains the object
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

// parentManager returns the field manager for the set's label and annotations on the parent. It differs from the
// applier's field manager, under which an intent may apply other fields of the parent.
func parentManager(fieldManager string) string {
	const suffix, limit = "-applyset", 128
	return strings.ToValidUTF8(fieldManager[:min(len(fieldManager), limit-len(suffix))], "") + suffix
}

// knownSet is the state of a parent's set that this process remembers, to save requests.
type knownSet struct {
	record  record              // the set's label and annotations on the parent
	applied sets.Set[intentKey] // the members that this process has applied
	// complete means that all members of the set are in applied or are kept objects.
	complete bool
	lookout  lookout  // the kept objects
	partials partials // the partial intents in the annotation that this process wrote to the parent
}

// Round is the result of Sets.Apply: the Outcome of each intent of a parent. Call Prune next.
type Round struct {
	Outcomes []apply.Outcome // one for each intent, in the same order; empty if no intent was applied
	Errs     []error         // the errors of emit, of writing the parent, and of each apply; none is nil

	sets       *Sets
	parent     apply.ObjectRef
	read       record              // the record in the parent that was given to Sets.Apply
	generation int64               // the generation of the parent that was given to Sets.Apply
	version    string              // the resourceVersion of that parent, or of our own later write to it; "" if not known
	own        record              // the record that the parent must have, without kinds and namespaces
	recorded   record              // the record in the live parent; set by announce
	emitted    scope               // the kinds and namespaces of the members in this round
	members    sets.Set[intentKey] // the members with an intent in this round
	partial    partials            // the partial intents of this round
	named      partials            // the partial intents in the parent's annotation; set by announce
	emittedAs  map[types.UID]bool  // by uid of an applied object: true for a member, false for a partial intent
	taken      map[lanes.Key]error // the error for each object that belongs to someone else (apply.ErrNotOurs)
	complete   bool                // all intents were applied
}

// Apply calls emit to compute the intents of a parent, and applies the intents in the given order, even if some of them
// fail. It first records the kinds and namespaces of the members in the parent's annotations. If emit fails, nothing is
// written. If the parent cannot be written, no intent is applied. Apply does not change the argument parent, which may
// come from a cache.
//
// Round.Errs contains the errors of apply.Applier.Apply. In addition, a *RefusedError may mean that the parent's set
// belongs to another tool or field manager, or that an object is a member of another set. An *IntentError may also mean
// that there are two intents for the same object.
func (s *Sets) Apply(ctx context.Context, parent client.Object, emit func() ([]apply.Intent, error)) *Round {
	r, err := s.begin(parent)
	if err != nil {
		return r.failed(err)
	}
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

// begin makes a new Round the latest Round of the parent. It returns an IntentError if the parent is not valid.
func (s *Sets) begin(parent client.Object) (*Round, error) {
	r := &Round{
		sets: s, emitted: newScope(), members: sets.Set[intentKey]{},
		partial: partials{}, emittedAs: map[types.UID]bool{}, taken: map[lanes.Key]error{},
	}
	err := r.identify(parent)
	if err == nil {
		s.latest.Put(r.parent.UID, r)
	}
	return r, err
}

func (r *Round) failed(err error) *Round {
	r.Errs = append(r.Errs, err)
	return r
}

func (r *Round) identify(parent client.Object) error {
	if v := reflect.ValueOf(parent); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return &apply.IntentError{Err: fmt.Errorf("the parent of the ApplySet must not be nil, but is %T(nil)", parent)}
	}
	kind, err := r.sets.parents.Client().GroupVersionKindFor(parent)
	if err != nil {
		return &apply.IntentError{Err: fmt.Errorf("looking up the kind of the ApplySet's parent: %w", err)}
	}
	r.parent = apply.ObjectRef{GroupVersionKind: kind, NamespacedName: client.ObjectKeyFromObject(parent), UID: parent.GetUID()}
	if r.parent.UID == "" {
		return &apply.IntentError{Object: r.parent, Err: errors.New("the ApplySet's parent has no uid: pass a parent that was read with a client")}
	}
	r.read, r.generation, r.version = recordOf(parent), parent.GetGeneration(), parent.GetResourceVersion()
	if r.generation == 0 && r.version == "" {
		return &apply.IntentError{Object: r.parent, Err: errors.New(
			"the ApplySet's parent has no resourceVersion, which is needed because the parent's kind has no generation: pass a parent that was read with a client")}
	}
	r.own = record{id: ID(r.parent), tooling: r.sets.members.FieldManager() + "/v1"}
	return nil
}
