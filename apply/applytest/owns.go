package applytest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"coapply.dev/apply"
	"coapply.dev/apply/internal/emission"
	"coapply.dev/fieldowners"
	"coapply.dev/fieldowners/contract"
)

// Owns calls emit for each parent, and checks that the intents match the contract of a field manager. The contract must
// allow the field manager to apply each field of the intents. In addition, each path that the contract allows must
// cover a field of at least one intent. So choose parents whose intents together contain every field that the field
// manager may apply.
//
// Owns calls emit twice for each parent. If the two calls return different intents, the test fails, and the error names
// a field that differs.
//
// The contract must contain the claims of only one field manager, such as all.Of("shop-web"). To find claims of two
// field managers on the same field, use contract.Check.
func Owns[Parent any](t testing.TB, c contract.Contract, emit func(Parent) ([]apply.Intent, error), parents ...Parent) {
	t.Helper()
	managers := c.Managers()
	if len(managers) != 1 {
		t.Errorf("applytest: Owns checks the contract of one field manager, but this contract has %d managers: %q; select one with Contract.Of", len(managers), managers)
		return
	}
	if err := contract.Check(c); err != nil {
		t.Error(err)
		return
	}
	if len(parents) == 0 {
		t.Error("applytest: Owns needs at least one parent, because without a parent there are no intents")
		return
	}
	owns := newOwning(c)
	for i, parent := range parents {
		intents, err := emit(parent)
		if err != nil {
			t.Errorf("computing the intents of parents[%d]: %v", i, err)
		}
		again, _ := emit(parent)
		if difference := emission.Difference(intents, again); difference != "" {
			t.Errorf("computing the intents of parents[%d]: %s", i, difference)
		}
		for _, intent := range intents {
			if err := owns.check(intent); err != nil {
				t.Errorf("checking the intents of parents[%d]: %v", i, err)
			}
		}
	}
	for _, problem := range owns.problems() {
		t.Error(problem)
	}
}

// owning compares the fields of intents with the claims of one field manager.
type owning struct {
	manager string
	kinds   map[schema.GroupKind][]*claimedPath
	found   []string
}

type claimedPath struct {
	fieldowners.Path

	emitted bool
}

func newOwning(c contract.Contract) *owning {
	owns := &owning{manager: c[0].Manager, kinds: map[schema.GroupKind][]*claimedPath{}}
	for _, claim := range c {
		for _, text := range claim.Applies {
			owns.kinds[claim.Kind] = append(owns.kinds[claim.Kind], &claimedPath{Path: fieldowners.MustParsePath(text)})
		}
	}
	return owns
}

func (o *owning) check(intent apply.Intent) error {
	object, err := encoded(intent.Config)
	if err != nil {
		return err
	}
	kind := object.GroupVersionKind().GroupKind()
	if intent.Body != nil { // the claims of the object also cover the fields of the body, such as .spec.replicas of a Scale
		if object, err = encoded(intent.Body); err != nil {
			return err
		}
	}
	claims := o.kinds[kind]
	for _, field := range emittedFields(object.Object, claims) {
		covered := false
		for _, claim := range claims {
			if contract.Covers(claim.Path, field) {
				covered = true
				claim.emitted = claim.emitted || field.HasPrefix(claim.Path)
			}
		}
		if problem := fmt.Sprintf("%s emits %s of %s, but the contract does not allow this manager to apply the field: add the path to Applies, or do not emit the field",
			o.manager, field, kind); !covered && !slices.Contains(o.found, problem) {
			o.found = append(o.found, problem)
		}
	}
	return nil
}

func encoded(config runtime.ApplyConfiguration) (object unstructured.Unstructured, err error) {
	text, err := json.Marshal(config)
	if err == nil {
		err = json.Unmarshal(text, &object.Object)
	}
	return object, err
}

// problems returns a message for each field of an intent that no claim covers, and then a message for each claimed path
// without a field in any intent.
func (o *owning) problems() []string {
	var unused []string
	for kind, claims := range o.kinds {
		for _, claim := range claims {
			if !claim.emitted {
				unused = append(unused, fmt.Sprintf("%s claims %s of %s but emits no field at or below the path: remove the path from Applies or add parents whose intents set the path",
					o.manager, claim.Path, kind))
			}
		}
	}
	slices.Sort(unused)
	return append(slices.Clone(o.found), unused...)
}

// emittedFields returns the paths of all fields of an intent, except those that identify the object.
func emittedFields(object map[string]any, claims []*claimedPath) []fieldowners.Path {
	walk := emitted{object: object, claims: claims}
	walk.value(fieldowners.Path{}, object)
	slices.SortFunc(walk.fields, fieldowners.Path.Compare)
	return slices.DeleteFunc(walk.fields, func(path fieldowners.Path) bool {
		return slices.Contains([]string{".apiVersion", ".kind", ".metadata.name", ".metadata.namespace", ".metadata.uid"}, path.String())
	})
}

// emitted collects the paths of the scalars, empty maps and empty lists in an intent. The intent does not show which
// fields are the keys of a list item. So emitted names the list items in the same way as the claims do.
type emitted struct {
	object map[string]any
	claims []*claimedPath
	fields []fieldowners.Path
}

func (e *emitted) value(at fieldowners.Path, value any) {
	switch value := value.(type) {
	case map[string]any:
		for name, child := range value {
			e.value(below(at, "["+quoted(name)+"]"), child)
		}
		if len(value) > 0 {
			return
		}
	case []any:
		if like, in := e.stepInto(at); in {
			for i, item := range value {
				e.value(e.item(at, like, i, item), item)
			}
			return
		}
	}
	e.fields = append(e.fields, at)
}

// stepInto returns the path element by which a claim identifies an item of the list. If no claim identifies an item,
// the list is claimed as a whole, and stepInto returns false.
func (e *emitted) stepInto(list fieldowners.Path) (step fieldowners.Element, in bool) {
	for _, claim := range e.claims {
		if claim.Len() > list.Len() && claim.HasPrefix(list) {
			return claim.Elements()[list.Len()], true
		}
	}
	return fieldowners.Element{}, false
}

// item returns the path of a list item. If a claim names the item, the result is the path in the claim, which may
// contain key fields that the API server defaults. Otherwise the path element gets the form of the argument like,
// which is the path element of another item in a claim: key fields, an index or, in a set, a value.
func (e *emitted) item(list fieldowners.Path, like fieldowners.Element, index int, item any) fieldowners.Path {
	fields, _ := item.(map[string]any)
	for _, claim := range e.claims {
		if !claim.HasPrefix(list) {
			continue
		}
		path := below(list, claim.Elements()[list.Len()].Text)
		if found, _ := path.Value(e.object); isSame(found, fields) {
			return path
		}
	}
	var keys []string
	for _, key := range like.Keys {
		if value, has := fields[key]; has && isScalar(value) {
			keys = append(keys, quoted(key)+"="+quoted(value))
		}
	}
	switch {
	case len(keys) > 0:
		return below(list, "["+strings.Join(keys, ",")+"]")
	case like.Index || !isScalar(item):
		return below(list, fmt.Sprintf("[%d]", index))
	}
	return below(list, "[="+quoted(item)+"]")
}

func isScalar(value any) bool {
	switch value.(type) {
	case map[string]any, []any:
		return false
	}
	return true
}

// isSame reports whether both values are the same map in memory, and not just equal maps.
func isSame(a any, b map[string]any) bool {
	other, isMap := a.(map[string]any)
	return isMap && reflect.ValueOf(other).Pointer() == reflect.ValueOf(b).Pointer()
}

func quoted(value any) string {
	text, _ := json.Marshal(value) // no error, because the value was decoded from JSON
	return string(text)
}

// below returns the path with the given path element appended.
func below(path fieldowners.Path, step string) fieldowners.Path {
	return fieldowners.MustParsePath(path.String() + step)
}
