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
type concessions []concession

// concede gives way in one conflict. A shared field that the live object does not
// have is left out: there is no value to adopt.
func concede(conflict Conflict, intent *encodedIntent, live *unstructured.Unstructured) (concession, error) {
	at, set := conflict.Path.Nearest(intent.object)
	if !set {
		return concession{}, fmt.Errorf("a conflict on %s, which the intent does not set", conflict.Path)
	}
	adopted, has := at.Value(live.Object)
	return concession{
		conflict: conflict,
		at:       at,
		adopted:  runtime.DeepCopyJSONValue(adopted),
		leaveOut: conflict.Decision == Relinquish || !has,
	}, nil
}

// adopt brings the shared values to those of the object read.
func (all concessions) adopt(live *unstructured.Unstructured) {
	for i, made := range all {
		if made.conflict.Decision != Share {
			continue
		}
		adopted, has := made.at.Value(live.Object)
		all[i].adopted, all[i].leaveOut = runtime.DeepCopyJSONValue(adopted), !has
		all[i].conflict.Theirs, _ = made.conflict.Path.Value(live.Object)
	}
}

// has tells whether the intent gave way in this conflict before.
func (all concessions) has(conflict Conflict) bool {
	return slices.ContainsFunc(all, func(made concession) bool { return made.conflict.sameField(conflict) })
}

// form gives what is left of the intent.
func (all concessions) form(intent *encodedIntent) *encodedIntent {
	if len(all) == 0 {
		return intent
	}
	object := runtime.DeepCopyJSON(intent.object)
	for _, made := range all {
		if !made.leaveOut {
			made.at.Set(object, made.adopted)
		}
	}
	for _, made := range all { // last: what is left out stays out
		if made.leaveOut {
			made.at.Cut(object)
		}
	}
	return intent.with(object)
}

func (all concessions) conflicts() []Conflict {
	var conflicts []Conflict
	for _, made := range all {
		conflicts = append(conflicts, made.conflict)
	}
	return conflicts
}
