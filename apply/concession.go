package apply

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"coapply.dev/fieldowners"
)

// concession is a field in which an intent gives way to its other owner.
type concession struct {
	conflict Conflict         // relinquished or shared, with its values
	at       fieldowners.Path // the part of the intent that gives way
	adopted  any              // the live value of a shared field
	leaveOut bool
	unread   unreadFields // the owner's fields, if they cannot be read; otherwise zero
}

// concessions are the concessions of an intent to the other owners of its object.
type concessions struct {
	made []concession
	// owned reports whether we own a parent of fields, such as a list item. keep reports
	// whether the parent is sent though its fields are left out: if nobody else owns it, the
	// server would otherwise remove it with all that others own in it.
	owned, keep func(fieldowners.Path) bool
}

// concede returns the concessions with one more, for a conflict over a field that the intent
// sets.
func (all concessions) concede(conflict Conflict, intent *encodedIntent, live *unstructured.Unstructured) concessions {
	at, _ := conflict.Path.Nearest(intent.object)
	made := newConcession(conflict, at, live)
	made.unread = unreadFieldsOf(live.GetManagedFields(), conflict.Manager)
	all.made = append(slices.Clip(all.made), made)
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

// adopting returns the concessions with the shared values of the object read.
func (all concessions) adopting(live *unstructured.Unstructured) concessions {
	all.made = slices.Clone(all.made)
	for i, made := range all.made {
		all.made[i] = newConcession(made.conflict, made.at, live)
		all.made[i].unread = made.unread
	}
	return all
}

// has reports whether the intent gives way in this conflict.
func (all concessions) has(conflict Conflict) bool {
	return slices.ContainsFunc(all.made, func(made concession) bool { return made.conflict.sameField(conflict) })
}

// unreadOf returns the fields of the conflict's owner that cannot be read, as they were when
// the intent gave way.
func (all concessions) unreadOf(conflict Conflict) unreadFields {
	for _, made := range all.made {
		if made.conflict.sameField(conflict) {
			return made.unread
		}
	}
	return unreadFields{}
}

// unreadOwners returns the owners of a field that the server has named in a conflict, whose
// fields cannot be read and have not changed since.
func (all concessions) unreadOwners(field concession, entries []metav1.ManagedFieldsEntry) (owners []fieldowners.Manager) {
	for _, made := range all.made {
		if made.sameField(field) && made.unread != (unreadFields{}) && made.unread == unreadFieldsOf(entries, made.conflict.Manager) {
			owners = append(owners, made.conflict.Manager)
		}
	}
	return owners
}

// remembers reports whether the intent gave way in this conflict in an earlier apply.
func (all concessions) remembers(conflict Conflict) bool {
	return slices.ContainsFunc(all.made, func(made concession) bool {
		return made.conflict.Remembered && made.conflict.sameField(conflict)
	})
}

// relinquish reports whether a field was relinquished to one of its owners.
func (all concessions) relinquish(field concession) bool {
	return slices.ContainsFunc(all.made, func(made concession) bool {
		return made.sameField(field) && made.conflict.Decision == Relinquish
	})
}

func (made concession) sameField(other concession) bool {
	return made.conflict.Path.Equal(other.conflict.Path)
}

// form returns what is left of the intent, and reports whether a parent of fields that
// we own is given up with them, for others who own it too.
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
			made.at.Cut(object, keep)
		}
	}
	return intent.with(object), givesUp
}

// emptied reports whether a parent of what gives way is empty in what is left of the intent.
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

// ownedAround returns a function that answers as owned does for the parents of what gives way,
// which are all that form asks about. It keeps none of the object's managed fields in memory.
func (all concessions) ownedAround() func(fieldowners.Path) bool {
	owned := map[string]bool{}
	for _, made := range all.made {
		for parent := made.at.Parent(); !parent.IsRoot(); parent = parent.Parent() {
			if all.owned(parent) {
				owned[parent.String()] = true
			}
		}
	}
	return func(parent fieldowners.Path) bool { return owned[parent.String()] }
}

func (all concessions) conflicts() []Conflict {
	var conflicts []Conflict
	for _, made := range all.made {
		conflicts = append(conflicts, made.conflict)
	}
	return conflicts
}
