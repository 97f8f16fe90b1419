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
	"coapply.dev/fieldowners"
)

// concession is one field of an intent that another field manager owns with another value, and that the policy decided
// to relinquish (to leave out of the request) or to share (to send with the live value).
type concession struct {
	conflict Conflict         // the conflict over the field, with both values
	at       fieldowners.Path // the field in the intent: conflict.Path, or the parent that the intent sets instead
	adopted  any              // the live value of a shared field
	leaveOut bool             // leave the field out of the request, instead of sending adopted
}

// concessions contains the relinquished and shared fields of an intent. It is valid only for the version of the object
// that was read.
type concessions struct {
	made []concession
	// owned reports whether this field manager owns a field, or a parent of fields such as a list item.
	//
	// keep reports whether a map, list or list item must be sent even if all its fields are left out of the request.
	// This is so if this field manager is its only owner: if the map, list or item were left out, the API server would
	// remove it, together with the fields of other managers inside.
	owned, keep func(fieldowners.Path) bool
}

// foresee predicts the conflicts that the API server will report for the intent, from an object that was read. It
// returns the conflicting fields that the policy relinquishes or shares. If the policy rejects one of the conflicts,
// foresee returns no concessions, so that the whole intent is sent, and the API server confirms the conflict. foresee
// also returns the managed fields entries that cannot be parsed.
//
// Only the API server decides what a conflict is. After a wrong prediction, a field of the intent would silently not be
// applied. So foresee skips a field if its owner uses another apiVersion than the intent, or has a managed fields entry
// that cannot be parsed. It also skips a list or map, unless the schema shows that the list or map is owned as a whole.
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
			case Force: // no concession to this owner, but the field may still be relinquished to another owner
			default:
				return c.noneBy(ownership), unread
			}
		}
	}
	return found, unread
}

// mayGiveWay reports whether the policy may relinquish or share a field of the intent.
func (c *call) mayGiveWay() bool { return !c.intent.hasBody() && c.config.Policy.mayGiveWay() }

func hasParts(value any) bool {
	switch value.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

// oneField returns a function that reports whether the list or map at a path is owned as a whole, such as an atomic
// list. The function uses the API server's schema. It returns false if the schema is not known.
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

// hasTwins reports whether two managed fields entries have the same owner. This can happen after writes through /scale.
// At the next write, the API server keeps only the last of these entries. Fields that are listed only in the dropped
// entries then have no owner (see managedfields.DecodeManagedFields).
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

// mayForesee reports whether the call may predict the conflicts of its first request with foresee. The policy must be
// able to relinquish or share fields, and the call must have a cached object that includes all writes of this process.
func (c *call) mayForesee() bool {
	read := c.target.read
	return read != nil && !c.dryRun && c.mayGiveWay() &&
		(c.target.uid == "" || c.target.uid == read.GetUID()) &&
		c.believes(read, c.intent.Subresource)
}

// foreseeRead returns a copy of the cached object, and the concessions that foresee predicts from the object. If the
// cached object may be out of date, or may differ from the stored values (see mayWantTheSame), both results are empty.
func (c *call) foreseeRead(ctx context.Context) (*unstructured.Unstructured, concessions) {
	if !c.mayForesee() {
		return nil, concessions{}
	}
	object := c.target.read
	read, err := content.Copy(object)
	if err != nil || read.GetUID() == "" || read.GetResourceVersion() == "" {
		return nil, concessions{}
	}
	read.SetGroupVersionKind(c.ref.GroupVersionKind) // a typed object may lack its kind
	found, _ := c.foresee(ctx, read)
	if c.mayWantTheSame(found, object) {
		return nil, concessions{}
	}
	return read, found
}

// mayWantTheSame reports whether the intent's value of a relinquished or shared field may equal the stored value,
// although the cached object shows another value. This can happen if the cached object is typed. For example, a custom
// resource stores the quantity 0.5 as it was sent, but the typed object contains 500m. Or the Go type lacks a field
// that a newer API server stores.
func (c *call) mayWantTheSame(held concessions, object client.Object) bool {
	if _, asSent := object.(runtime.Unstructured); len(held.made) == 0 || asSent {
		return false
	}
	own := reflect.New(reflect.TypeOf(object).Elem()).Interface()
	if runtime.DefaultUnstructuredConverter.FromUnstructured(c.intent.object, own) != nil {
		return true
	}
	wanted, _ := runtime.DefaultUnstructuredConverter.ToUnstructured(own) // no error, because own was decoded from JSON values
	return slices.ContainsFunc(held.made, func(made concession) bool {
		value, _ := made.conflict.Path.Value(wanted)
		return reflect.DeepEqual(value, made.conflict.Theirs)
	})
}

// stillGivesWay tries to prove that an intent with relinquished or shared fields needs no request. The cached object
// must show that these fields still conflict, and that applying the rest of the intent would change nothing.
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
		c.log.V(1).Info("cannot prove that applying the intent without its relinquished and shared fields changes nothing, so the intent is sent", "because", c.intent.whyNot(err))
		return proof{}, false
	}
	_, unread := fieldowners.ParseReadable(read.GetManagedFields())
	return proof{object: refOf(c.ref, object), conflicts: made.conflicts(), unread: unread}, true
}

// isEmptyList reports whether a value is an empty list. stillGivesWay does not try to prove that an intent with an
// empty list needs no request.
func isEmptyList(content any) bool {
	list, ok := content.([]any)
	return ok && len(list) == 0
}

// noneBy returns empty concessions for an object whose fields have the given owners.
func (c *call) noneBy(ownership fieldowners.Ownership) concessions {
	return concessions{
		owned: func(path fieldowners.Path) bool { return slices.ContainsFunc(ownership.OwnersOf(path), c.isOurs) },
		keep: func(path fieldowners.Path) bool {
			owners := ownership.OwnersOf(path)
			return len(owners) == 1 && c.isOurs(owners[0])
		},
	}
}

// isOurs reports whether the API server records applies of this call under the given owner: the Applier's field
// manager, with the operation Apply and the call's subresource.
func (c *call) isOurs(m fieldowners.Manager) bool {
	return m.Name == c.config.FieldManager && m.Operation == metav1.ManagedFieldsOperationApply &&
		m.Subresource == c.intent.Subresource
}

// concede returns a copy of the concessions, with one more field that is relinquished or shared.
func (all concessions) concede(conflict Conflict, intent *encodedIntent, live *unstructured.Unstructured) concessions {
	at, _ := conflict.Path.Nearest(intent.object)
	all.made = append(slices.Clip(all.made), newConcession(conflict, at, live))
	return all
}

// newConcession returns the concession for a conflict on the given field of the intent. A shared field without a live
// value is left out of the request, like a relinquished field.
func newConcession(conflict Conflict, at fieldowners.Path, live *unstructured.Unstructured) concession {
	adopted, has := at.Value(live.Object)
	return concession{
		conflict: conflict,
		at:       at,
		adopted:  runtime.DeepCopyJSONValue(adopted),
		leaveOut: conflict.Decision == Relinquish || !has,
	}
}

// has reports whether the field of a conflict is already relinquished or shared.
func (all concessions) has(conflict Conflict) bool {
	return slices.ContainsFunc(all.made, func(made concession) bool { return made.conflict.sameField(conflict) })
}

// form returns the intent without the relinquished fields, and with the live values of the shared fields.
//
// givesUp reports whether the returned intent omits a field, or a parent of fields, that this field manager owns now.
// The apply of such an intent must be pinned to the resourceVersion that was read. Otherwise, if the other owners give
// the field up first, the API server would remove the field.
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
	for _, made := range all.made { // leave fields out last: setting a shared value could add a left-out field again
		if made.leaveOut {
			givesUp = givesUp || all.owned(made.at)
			made.at.Cut(object, keep)
		}
	}
	return intent.with(object), givesUp
}

// emptied reports whether form has emptied a map of the intent, because all fields of the map are relinquished.
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

type reportedConflict struct {
	conflictField

	uid types.UID
}

var reportedSeed = maphash.MakeSeed()

// gaveWay reports whether the call must read the live object before the first write. This is necessary if the last
// Apply to the object relinquished or shared a field, and no cached object can show whether the conflict still exists.
func (c *call) gaveWay() bool {
	gave := len(c.ledger.Reported(c.ref.Key(), c.writer(c.intent.Subresource))) > 0
	return gave && !c.dryRun && c.mayGiveWay() && !c.mayForesee()
}

// report stores the relinquished and shared conflicts, so that the next call can compare its conflicts with them. It
// returns the given conflicts, and sets Remembered in each conflict that the previous call also reported.
func (c *call) report(conflicts []Conflict) []Conflict {
	who := c.writer(c.intent.Subresource)
	before := c.ledger.Reported(c.ref.Key(), who)
	var now []uint64
	for i, conflict := range conflicts {
		if conflict.Decision != Force {
			hash := maphash.Comparable(reportedSeed, reportedConflict{conflict.field(), conflict.Object.UID})
			conflicts[i].Remembered = slices.Contains(before, hash)
			now = append(now, hash)
		}
	}
	if !c.dryRun && len(before)+len(now) > 0 {
		c.ledger.Report(c.ref.Key(), who, now)
	}
	return conflicts
}
