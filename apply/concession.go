package apply

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"coapply.dev/fieldowners"
)

// concession is a field in which an intent gives way to its other owner.
type concession struct {
	conflict Conflict         // relinquished or shared, with its values
	at       fieldowners.Path // what of the intent gives way
	adopted  any              // the live value of a shared field
	leaveOut bool
}

// concessions are those of one object.
type concessions struct {
	made []concession
	// ours tells whether a parent of fields, such as a list item, has no other owner
	// than us. Were it left out with the field, the server would remove it with all
	// that others own in it.
	ours func(fieldowners.Path) bool
}

// concede gives way in one conflict. A shared field that the live object does not
// have is left out: there is no value to adopt.
func (all *concessions) concede(conflict Conflict, intent *encodedIntent, live *unstructured.Unstructured) error {
	at, set := conflict.Path.Nearest(intent.object)
	if !set {
		return fmt.Errorf("a conflict on %s, which the intent does not set", conflict.Path)
	}
	all.made = append(all.made, newConcession(conflict, at, live))
	return nil
}

func newConcession(conflict Conflict, at fieldowners.Path, live *unstructured.Unstructured) concession {
	adopted, has := at.Value(live.Object)
	return concession{
		conflict: conflict,
		at:       at,
		adopted:  runtime.DeepCopyJSONValue(adopted),
		leaveOut: conflict.Decision == Relinquish || !has,
	}
}

// adopt brings the shared values to those of the object read.
func (all *concessions) adopt(live *unstructured.Unstructured) {
	for i, made := range all.made {
		if made.conflict.Decision != Share {
			continue
		}
		adopted, has := made.at.Value(live.Object)
		all.made[i].adopted, all.made[i].leaveOut = runtime.DeepCopyJSONValue(adopted), !has
		all.made[i].conflict.Theirs, _ = made.conflict.Path.Value(live.Object)
	}
}

// has tells whether the intent gave way in this conflict before.
func (all *concessions) has(conflict Conflict) bool {
	return slices.ContainsFunc(all.made, func(made concession) bool { return made.conflict.sameField(conflict) })
}

// relinquish tells whether a field was relinquished to one of its owners.
func (all *concessions) relinquish(field concession) bool {
	return slices.ContainsFunc(all.made, func(made concession) bool {
		return made.sameField(field) && made.conflict.Decision == Relinquish
	})
}

func (made concession) sameField(other concession) bool {
	return made.conflict.Path.Equal(other.conflict.Path)
}

// form gives what is left of the intent.
func (all *concessions) form(intent *encodedIntent) *encodedIntent {
	if len(all.made) == 0 {
		return intent
	}
	object := runtime.DeepCopyJSON(intent.object)
	for _, made := range all.made {
		if !made.leaveOut {
			made.at.Set(object, made.adopted)
		}
	}
	for _, made := range all.made { // last: what is left out stays out
		if made.leaveOut {
			made.at.Cut(object, all.ours)
		}
	}
	return intent.with(object)
}

func (all *concessions) conflicts() []Conflict {
	var conflicts []Conflict
	for _, made := range all.made {
		conflicts = append(conflicts, made.conflict)
	}
	return conflicts
}
