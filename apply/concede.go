package apply

import (
	"context"
	"hash/maphash"
	"reflect"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply/internal/content"
	"coapply.dev/apply/lanes"
	"coapply.dev/fieldowners"
	"coapply.dev/internal/recent"
)

// concession is a field that an intent relinquishes, or shares with its other owner.
type concession struct {
	conflict Conflict         // relinquished or shared, with its values
	at       fieldowners.Path // the part of the intent that is left out or gets the live value
	adopted  any              // the live value of a shared field
	leaveOut bool
}

// concessions are the concessions of an intent to the other owners of its object, as it was read.
type concessions struct {
	made []concession
	// owned reports whether we own a field, or a parent of fields, such as a list item. keep
	// reports whether the parent is sent though its fields are left out: if nobody else owns it,
	// the server would otherwise remove it with all that others own in it.
	owned, keep func(fieldowners.Path) bool
}

// foresee returns the concessions that the object, as it was read, calls for: the fields that the
// intent sets, and that others own with another value, where the policy relinquishes or shares
// them. It returns none where the policy rejects one of the fields: the API server is to confirm
// that.
//
// The API server decides what a conflict is. A field that is not certain to be one is left to its
// answer: the field of an owner in another apiVersion, or whose managed fields cannot be read, and
// a list or map of which only the schema tells whether it is one field. A field too much would
// not be applied, and nobody would see it.
func (c *call) foresee(ctx context.Context, object *unstructured.Unstructured) (concessions, []*fieldowners.EntryError) {
	entries := object.GetManagedFields()
	ownership, unread := fieldowners.ParseReadable(entries)
	found := c.noneBy(ownership)
	if !c.mayGiveWay() || hasTwins(entries) {
		return found, unread
	}
	intent, live := fieldowners.NewIndex(c.intent.object), fieldowners.NewIndex(object.Object)
	oneField := c.oneField(ctx)
	for _, entry := range ownership.Entries() {
		if c.isOurs(entry.Manager) || entry.APIVersion != object.GetAPIVersion() {
			continue
		}
		for _, path := range entry.Leaves() {
			ours, set := intent.Value(path)
			if !set || ours == nil {
				continue
			}
			theirs, _ := live.Value(path)
			conflict := Conflict{Object: c.intent.ref.as(object), Manager: entry.Manager, ServerPath: path.ServerString()}
			if equal := conflict.setPath(path, ours, theirs); equal || theirs == nil || hasParts(ours) && !oneField(path) {
				continue
			}
			switch c.decideOn(&conflict); conflict.Decision {
			case Relinquish, Share:
				found.made = append(found.made, newConcession(conflict, path, object))
			case Force: // the field may still be relinquished to another owner
			default:
				return c.noneBy(ownership), unread
			}
		}
	}
	return found, unread
}

// mayGiveWay reports whether conflicts of this call can be foreseen and be conceded.
func (c *call) mayGiveWay() bool { return !c.intent.hasBody() && c.config.Policy.mayGiveWay() }

func hasParts(value any) bool {
	switch value.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

// oneField returns a function that reports whether a list or map of the intent is owned as a
// whole, by the server's schema. Without a schema the answer is false.
func (c *call) oneField(ctx context.Context) func(fieldowners.Path) bool {
	leaves := sync.OnceValue(func() []fieldowners.Path {
		if c.config.Steady == nil {
			return nil
		}
		known, err := c.config.Steady.schemas.Of(ctx, c.ref.GroupVersion())
		if err != nil {
			return nil
		}
		recorded, err := c.asApplied(c.intent.object, c.intent.Subresource).Entry(known.Converter)
		if err != nil {
			return nil
		}
		own, _ := fieldowners.ParseReadable([]metav1.ManagedFieldsEntry{recorded})
		var leaves []fieldowners.Path
		for _, entry := range own.Entries() {
			leaves = append(leaves, entry.Leaves()...)
		}
		return leaves
	})
	return func(path fieldowners.Path) bool { return slices.ContainsFunc(leaves(), path.Equal) }
}

// hasTwins reports whether two entries are of one manager, as writes through /scale may leave
// them. The API server reads the last of them, and drops the others at the next write: what only
// they have is nobody's (managedfields.DecodeManagedFields).
func hasTwins(entries []metav1.ManagedFieldsEntry) bool {
	for i, entry := range entries {
		if slices.ContainsFunc(entries[:i], func(other metav1.ManagedFieldsEntry) bool {
			return other.Manager == entry.Manager && other.Operation == entry.Operation && other.Subresource == entry.Subresource &&
				(other.APIVersion == entry.APIVersion || entry.Operation == metav1.ManagedFieldsOperationApply)
		}) {
			return true
		}
	}
	return false
}

// mayForesee reports whether Apply has read an object by which concessions can be foreseen.
func (c *call) mayForesee() bool {
	read := c.target.read
	return read != nil && !c.dryRun && c.mayGiveWay() &&
		(c.target.uid == "" || c.target.uid == read.GetUID()) &&
		(c.config.Steady == nil || c.believes(read, c.intent.Subresource))
}

// foreseeRead returns the object that Apply has read from a cache, with the concessions that it
// calls for; none if the object cannot tell.
func (c *call) foreseeRead(ctx context.Context) (*unstructured.Unstructured, concessions) {
	if !c.mayForesee() {
		return nil, concessions{}
	}
	object := c.target.read
	read, err := content.Copy(object)
	if err != nil || read.GetUID() == "" || read.GetResourceVersion() == "" {
		return nil, concessions{}
	}
	read.SetGroupVersionKind(c.ref.GroupVersionKind) // a typed object need not have it
	found, _ := c.foresee(ctx, read)
	if c.mayWantTheSame(found, object) {
		return nil, concessions{}
	}
	return read, found
}

// mayWantTheSame reports whether the intent may set a conceded field to its live value. A custom
// resource keeps a value as it was sent, 0.5 for instance, and a typed object that was read from it
// has 500m. The Go type of a built-in kind may lack a field that a newer API server has.
func (c *call) mayWantTheSame(held concessions, object client.Object) bool {
	if _, asSent := object.(runtime.Unstructured); len(held.made) == 0 || asSent {
		return false
	}
	own := reflect.New(reflect.TypeOf(object).Elem()).Interface()
	if runtime.DefaultUnstructuredConverter.FromUnstructured(c.intent.object, own) != nil {
		return true
	}
	wanted, _ := runtime.DefaultUnstructuredConverter.ToUnstructured(own) // it came from JSON
	return slices.ContainsFunc(held.made, func(made concession) bool {
		value, _ := made.conflict.Path.Value(wanted)
		return reflect.DeepEqual(value, made.conflict.Theirs)
	})
}

// stillGivesWay proves that applying what the concessions leave of the intent would change
// nothing.
func (c *call) stillGivesWay(ctx context.Context, object client.Object) (found proof, ok bool) {
	read, made := c.foreseeRead(ctx)
	if len(made.made) == 0 || content.Within(c.intent.object, isEmptyList) {
		return proof{}, false
	}
	left, givesUp := made.form(c.intent)
	if givesUp || made.emptied(left) && !left.sentWhole() {
		return proof{}, false
	}
	if _, err := c.prove(ctx, left, object); err != nil {
		c.log.V(1).Info("not steady, with concessions", "because", c.intent.whyNot(err))
		return proof{}, false
	}
	_, unread := fieldowners.ParseReadable(read.GetManagedFields())
	return proof{object: refOf(c.ref, object), conflicts: made.conflicts(), unread: unread}, true
}

// isEmptyList reports whether a value is an empty list. If a parent of the list is conceded, the rest
// of the intent differs with the list and without it.
func isEmptyList(content any) bool {
	list, ok := content.([]any)
	return ok && len(list) == 0
}

// noneBy returns empty concessions for an object with these owners.
func (c *call) noneBy(ownership fieldowners.Ownership) concessions {
	return concessions{
		owned: func(path fieldowners.Path) bool { return slices.ContainsFunc(ownership.OwnersOf(path), c.isOurs) },
		keep: func(path fieldowners.Path) bool {
			owners := ownership.OwnersOf(path)
			return len(owners) == 1 && c.isOurs(owners[0])
		},
	}
}

// isOurs reports whether a managed fields entry is that of this call.
func (c *call) isOurs(m fieldowners.Manager) bool {
	return m.Name == c.config.FieldManager && m.Operation == metav1.ManagedFieldsOperationApply &&
		m.Subresource == c.intent.Subresource
}

// concede returns the concessions with one more, for a conflict over a field that the intent
// sets.
func (all concessions) concede(conflict Conflict, intent *encodedIntent, live *unstructured.Unstructured) concessions {
	at, _ := conflict.Path.Nearest(intent.object)
	all.made = append(slices.Clip(all.made), newConcession(conflict, at, live))
	return all
}

// newConcession returns a concession with the live value for a shared field. A field that the
// live object does not have is left out: there is no value to adopt.
func newConcession(conflict Conflict, at fieldowners.Path, live *unstructured.Unstructured) concession {
	adopted, has := at.Value(live.Object)
	return concession{
		conflict: conflict,
		at:       at,
		adopted:  runtime.DeepCopyJSONValue(adopted),
		leaveOut: conflict.Decision == Relinquish || !has,
	}
}

// has reports whether there is a concession for a conflict.
func (all concessions) has(conflict Conflict) bool {
	return slices.ContainsFunc(all.made, func(made concession) bool { return made.conflict.sameField(conflict) })
}

// form returns what is left of the intent. givesUp reports whether we own some of what is left
// out, or a parent of it that others own too: the server removes it if they have let go first.
func (all concessions) form(intent *encodedIntent) (left *encodedIntent, givesUp bool) {
	if len(all.made) == 0 {
		return intent, false
	}
	object := runtime.DeepCopyJSON(intent.object)
	for _, made := range all.made {
		if !made.leaveOut {
			made.at.Set(object, made.adopted)
		}
	}
	keep := func(parent fieldowners.Path) bool {
		kept := all.keep(parent)
		givesUp = givesUp || !kept && all.owned(parent)
		return kept
	}
	for _, made := range all.made { // last: what is left out stays out
		if made.leaveOut {
			givesUp = givesUp || all.owned(made.at)
			made.at.Cut(object, keep)
		}
	}
	return intent.with(object), givesUp
}

// emptied reports whether the rest of the intent has an empty parent of a conceded field.
func (all concessions) emptied(left *encodedIntent) bool {
	return slices.ContainsFunc(all.made, func(made concession) bool {
		for parent := made.at.Parent(); !parent.IsRoot(); parent = parent.Parent() {
			if held, there := parent.Value(left.object); there {
				fields, isMap := held.(map[string]any)
				return isMap && len(fields) == 0
			}
		}
		return false
	})
}

func (all concessions) conflicts() []Conflict {
	var conflicts []Conflict
	for _, made := range all.made {
		conflicts = append(conflicts, made.conflict)
	}
	slices.SortStableFunc(conflicts, Conflict.compare)
	return conflicts
}

// reported holds hashes of the concessions of the last Apply to an object.
type reported = recent.Cache[reportedKey, []uint64]

type reportedKey struct {
	lanes.Key

	subresource string
}

type reportedConflict struct {
	conflictField

	uid types.UID
}

const reportedObjects = 4096

var reportedSeed = maphash.MakeSeed()

func (c *call) reportedKey() reportedKey { return reportedKey{c.ref.Key(), c.intent.Subresource} }

// gaveWay reports whether the last Apply made concessions, so that this one reads the object first to
// see whether they are still necessary.
func (c *call) gaveWay() bool {
	_, gave := c.reported.Get(c.reportedKey())
	return gave && !c.dryRun && c.mayGiveWay() && !c.mayForesee()
}

// report returns the conflicts of a call that succeeded, and sets Remembered where they are the
// same as the last time.
func (c *call) report(conflicts []Conflict) []Conflict {
	before, _ := c.reported.Get(c.reportedKey())
	var now []uint64
	for i, conflict := range conflicts {
		if conflict.Decision != Force {
			hash := maphash.Comparable(reportedSeed, reportedConflict{conflict.field(), conflict.Object.UID})
			conflicts[i].Remembered = slices.Contains(before, hash)
			now = append(now, hash)
		}
	}
	switch {
	case c.dryRun:
	case len(now) > 0:
		c.reported.Put(c.reportedKey(), now)
	case before != nil:
		c.reported.Remove(c.reportedKey())
	}
	return conflicts
}
