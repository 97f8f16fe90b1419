// Package applyset applies the objects that a parent emits, and deletes the objects that the parent
// emitted before and no longer emits, by the rules of KEP-3659.
//
// # What the package promises
//
//  1. No object is orphaned, even if the process dies at any step: the parent records the kinds
//     and namespaces of its members before the first member is applied there.
//  2. A label alone deletes nothing. A member is deleted if the Applier's field manager owns
//     its label and no object but the parent owns it, by the uid and resourceVersion that
//     were judged. Members that are kept are returned with the reason.
//  3. Nothing is deleted unless all emitted intents were applied, and a live read shows that the
//     parent has not changed since the intents were emitted.
//  4. An object is in one set at most, and a set has one field manager.
//  5. Fields of a partial intent (MustExist or a Subresource) are released; its object is not
//     deleted.
//  6. A steady state costs no request.
//
// Errors are those of package apply, and a PruneError that lists them.
//
// # What the caller does
//
//  1. Emits all objects of the parent in each round, or returns an error. Objects that are left out
//     are deleted.
//  2. Keeps one Sets for a field manager, in one process at a time, and applies one round at
//     a time for a parent.
//  3. Gives the parent a finalizer, and calls Sets.Delete before removing it.
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
// Return the error, and nothing is deleted.
//
// Invalid: two Sets under one field manager for the parents of one kind, in two processes
// that run at the same time. Each can take a member that the other is about to apply.
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

// Sets applies what parents emit, and deletes what they emitted before and no longer emit.
// Annotations of the parent have the id of its set, and the kinds and namespaces where members
// may be. A label of each member has that id. Sets.Delete deletes everything that a parent
// emitted, before the parent itself is deleted.
//
// Each intent makes its object a member, whoever created the object, unless the intent is partial
// (MustExist or a Subresource). A partial intent adds fields to an object that someone else
// creates: it labels and deletes nothing. The parent names the object, and Prune releases the
// fields once they are no longer emitted, as apply.Applier.Release does. A round has at most
// one intent for an object or subresource.
//
// Before the first write to a member in this process, the member is read past the cache. If it
// has the label of another set, the error is a RefusedError until that set has pruned the member
// or the label is removed. A second reconciler that prunes for the same parent gets a
// RefusedError, too. Objects that were emitted before there was a set are not known.
//
// Cost beside the applies: for each member, a read of its metadata before the first write in a
// process, and after a failure; for each parent and process, one read of the parent and one
// list for each recorded kind and namespace, again whenever something is no longer emitted, and
// every ten minutes at most while something is kept; a write to the parent before the first and
// after the last member of a kind and namespace, or partial intent for an object.
//
// Rights: get and patch of parents; get, list and delete of members.
type Sets struct {
	members *apply.Applier
	parents *apply.Applier                     // writes the set's label and annotations, under a name of its own
	known   *recent.Cache[types.UID, knownSet] // by the parent's uid
	latest  *recent.Cache[types.UID, *Round]   // by the parent's uid: the last that began
	holders *recent.Cache[lanes.Key, string]   // the id of the set for which an object was applied last
	holding *lanes.Set                         // held from the read of a member's label to the end of its apply, which enters the object's own lane
}

// How many parents and members are remembered. One that is forgotten costs its reads again.
const (
	knownSets    = 4096
	knownMembers = 1 << 16
)

// New returns Sets whose members the applier applies. A conflict over the set's label is always
// rejected, whatever the policy.
func New(applier *apply.Applier) (*Sets, error) {
	if applier == nil {
		return nil, errors.New("applyset: an applier is needed")
	}
	config := applier.Config()
	config.Policy = config.Policy.Never(partOfPath.String()) // the label says whose set the object is in
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

// parentManager returns the field manager of the set's label and annotations on parents. The
// applier's own may own other fields there.
func parentManager(fieldManager string) string {
	const suffix = "-applyset"
	length := min(len(fieldManager), fieldManagerLimit-len(suffix))
	return strings.ToValidUTF8(fieldManager[:length], "") + suffix
}

const fieldManagerLimit = 128

// knownSet is what this process knows about a set without a request.
type knownSet struct {
	record record // what the parent says
	// applied are the members that were applied. If complete, the set has no others, except
	// kept ones.
	applied  sets.Set[lanes.Key]
	complete bool
	lookout  lookout  // for kept objects
	partials partials // that the parent names, as we wrote them
}

// Round reports what became of the intents of one emission. Call Prune afterwards.
type Round struct {
	Outcomes []apply.Outcome // one per intent, in their order; empty if no intent was applied
	Errs     []error         // non-nil errors: of emit, of writing the parent, of each intent

	sets       *Sets
	parent     apply.ObjectRef
	read       record // of the parent as it was given
	generation int64  // of the parent as it was given
	version    string // the parent's resourceVersion as given, or after our own write; "" if not known
	own        record // of the set, without a scope
	recorded   record // of the parent since announce
	emitted    scope  // of the members
	members    sets.Set[lanes.Key]
	intents    sets.Set[intentKey]
	partial    partials            // those of this round
	named      partials            // those that the parent names since announce
	emittedAs  map[types.UID]bool  // what was applied: true for a member
	taken      map[lanes.Key]error // objects that are someone else's, and so are their subresources
	complete   bool                // everything that was emitted is applied
}

// Apply applies everything that the parent calls for. It first records in the parent where
// members may be, and then applies each intent in its order, also after one failed, with the
// set's label on members. Nothing is written if emit fails, and no intent is applied if the
// parent cannot be written. The parent may come from a cache; Apply does not change it.
//
// The errors are those of apply.Applier.Apply; a *RefusedError for a set of another tool or
// field manager and for a member of another set; and an *IntentError for a second intent for
// the same object.
func (s *Sets) Apply(ctx context.Context, parent client.Object, emit func() ([]apply.Intent, error)) *Round {
	r := s.newRound()
	if err := r.identify(parent); err != nil {
		return r.failed(err)
	}
	s.latest.Put(r.parent.UID, r)
	if emit == nil {
		return r.failed(&apply.IntentError{Object: r.parent, Err: errors.New("the function that emits for this parent is nil")})
	}
	intents, err := emit()
	if err != nil {
		return r.failed(fmt.Errorf("emitting: %w", err))
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
		return &apply.IntentError{Err: fmt.Errorf("the kind of the parent of the set: %w", err)}
	}
	r.parent = apply.ObjectRef{GroupVersionKind: kind, NamespacedName: client.ObjectKeyFromObject(parent), UID: parent.GetUID()}
	if r.parent.UID == "" {
		return &apply.IntentError{Object: r.parent, Err: errors.New("the parent of a set needs its uid: give it as it was read")}
	}
	r.read, r.generation, r.version = recordOf(parent), parent.GetGeneration(), parent.GetResourceVersion()
	if r.generation == 0 && r.version == "" {
		return &apply.IntentError{Object: r.parent, Err: errors.New(
			"the parent of a set needs its resourceVersion, as it has no generation: give it as it was read")}
	}
	r.own = record{id: ID(r.parent), tooling: r.sets.members.FieldManager() + "/v1"}
	return nil
}
