package apply

import (
	"context"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply/internal/content"
	"coapply.dev/apply/internal/steady"
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
	made   []concession
	by     fieldowners.Manager   // the owner under which the intent is applied
	owners fieldowners.Ownership // of the object that was read
}

// owned reports whether this field manager owns a field, or a parent of fields such as a list item.
func (all concessions) owned(path fieldowners.Path) bool {
	return slices.ContainsFunc(all.owners.OwnersOf(path), all.by.SameWriter)
}

// keep reports whether a map, list or list item must be sent even if all its fields are left out of the request. This is
// so if this field manager is its only owner: if the map, list or item were left out, the API server would remove it,
// together with the fields of other managers inside.
func (all concessions) keep(path fieldowners.Path) bool {
	return all.owned(path) && len(all.owners.OwnersOf(path)) == 1
}

// foresee computes the conflicts that the API server will report for the intent, from an object that was read. It returns
// the conflicting fields that the policy relinquishes or shares. If the policy rejects one of the conflicts, foresee
// returns no concessions, so that the whole intent is sent, and the API server confirms the conflict. foresee also returns
// the managed fields entries that cannot be parsed.
//
// The API server may report further conflicts, because foresee leaves out what it cannot compute: owners that use another
// apiVersion than the intent, and, without the API server's schemas, lists and maps. After a wrong prediction, a field of
// the intent would silently not be applied.
func (c *call) foresee(ctx context.Context, object *unstructured.Unstructured) (concessions, []*fieldowners.EntryError) {
	ownership, unread := fieldowners.ParseReadable(object.GetManagedFields())
	found := concessions{by: c.owner(), owners: ownership}
	if !c.mayGiveWay {
		return found, unread
	}
	schemas, known := c.schemas(ctx)
	causes, err := c.whatIf(withOwnVersion(object), schemas)
	if err != nil {
		return found, unread
	}
	conflicts, err := c.describeConflicts(causes, object, ownership)
	if err != nil || hasRejected(conflicts) {
		return found, unread
	}
	for _, conflict := range conflicts {
		_, isList := conflict.Ours.([]any)
		_, isMap := conflict.Ours.(map[string]any)
		if conflict.Decision != Force && (known || !isList && !isMap) {
			found = found.concede(conflict, c.intent, object)
		}
	}
	return found, unread
}

// withOwnVersion returns the object without the managed fields entries of other versions. The conflicts with an owner do
// not depend on the entries of other owners.
func withOwnVersion(object *unstructured.Unstructured) *unstructured.Unstructured {
	own := object.DeepCopy()
	own.SetManagedFields(slices.DeleteFunc(own.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool {
		return entry.APIVersion != object.GetAPIVersion()
	}))
	return own
}

// mayForesee reports whether the call may predict the conflicts of its first request with foresee. It must have a cached
// object that includes all writes of this process.
func (c *call) mayForesee() bool {
	read := c.target.read
	return read != nil && !c.dryRun && (c.target.uid == "" || c.target.uid == read.GetUID()) && c.believes(read)
}

// stillGivesWay tries to prove that an intent with relinquished or shared fields needs no request. The cached object
// must show that these fields still conflict, and that applying the rest of the intent would change nothing. It remembers
// the proof.
func (c *call) stillGivesWay(ctx context.Context, key steady.Key, object client.Object) (found proof, ok bool) {
	if !c.mayForesee() {
		return proof{}, false
	}
	read := c.cachedCopy(ctx)
	if read == nil {
		return proof{}, false
	}
	made, unread := c.foresee(ctx, read)
	isEmptyList := func(v any) bool { list, ok := v.([]any); return ok && len(list) == 0 }
	if len(made.made) == 0 || content.Within(c.intent.Fields, isEmptyList) { // no attempt to prove the latter
		return proof{}, false
	}
	left, givesUp := made.form(c.intent)
	if givesUp {
		return proof{}, false
	}
	now, err := c.prove(ctx, left, c.asRead(object))
	if err != nil {
		c.log.V(1).Info("cannot prove that an apply without the relinquished and shared fields changes nothing, so the intent is sent", "because", c.intent.whyNot(err))
		return proof{}, false
	}
	conflicts := made.conflicts()
	now.gave = &conceded{c.Applier, c.hashOthers(c.asRead(object), conflicts), conflicts, unread}
	c.config.Steady.proven.Put(key, now)
	return proof{object: c.ref.as(object), conflicts: slices.Clone(conflicts), unread: unread}, true
}

// concede returns a copy of the concessions, with one more field that is relinquished or shared. A shared field without a
// live value is left out of the request, like a relinquished field.
func (all concessions) concede(conflict Conflict, intent *encodedIntent, live *unstructured.Unstructured) concessions {
	at, _ := conflict.Path.Nearest(intent.Fields)
	adopted, has := at.Value(live.Object)
	all.made = append(slices.Clip(all.made), concession{
		conflict: conflict,
		at:       at,
		adopted:  runtime.DeepCopyJSONValue(adopted),
		leaveOut: conflict.Decision == Relinquish || !has,
	})
	return all
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
	object := runtime.DeepCopyJSON(intent.Fields)
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

func (all concessions) conflicts() []Conflict {
	var conflicts []Conflict
	for _, made := range all.made {
		conflicts = append(conflicts, made.conflict)
	}
	slices.SortStableFunc(conflicts, Conflict.compare)
	return conflicts
}

// letGo reports whether the live object shows that a conflict has ended: the other owner no longer owns the field, or
// both values are now equal.
func (s settlement) letGo(conflict Conflict, live *unstructured.Unstructured) bool {
	ownership, _ := fieldowners.ParseReadable(live.GetManagedFields())
	isUnread := func(entry *fieldowners.EntryError) bool { return entry.Manager == conflict.Manager.Name }
	shows := len(live.GetManagedFields()) > 0 && !slices.ContainsFunc(s.unread, isUnread)
	return shows && !slices.Contains(ownership.OwnersOf(conflict.Path), conflict.Manager) || reflect.DeepEqual(conflict.Ours, conflict.Theirs)
}

// gaveWay reports whether the call must read the live object before the first write. This is necessary if the last
// Apply to the object relinquished or shared a field, and no cached object can show whether the conflict still exists.
func (c *call) gaveWay() bool {
	gave := len(c.ledger.Reported(c.ref.Key(), c.writer())) > 0
	return gave && !c.dryRun && !c.mayForesee()
}
