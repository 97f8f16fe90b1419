package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// prove gives an error that says what an apply of the form would change, or why that
// is not known. exactly says that no value differs even in form.
//
// It is what the API server does (structured-merge-diff's Updater.Apply), by the same
// library: the form's field set replaces that of our entry, and the form is merged into
// the object. If the set is the same and the merge changes nothing, nothing can be in
// conflict, and nothing is given up. by is the schema that it goes by.
func (c *call) prove(ctx context.Context, form *encodedIntent, object client.Object) (exactly bool, by *knownSchema, err error) {
	if c.config.FieldManager == "kubectl" {
		return false, nil, errors.New("the server writes kubectl's own annotation, too")
	}
	entry := c.ownEntry(object)
	if entry == nil {
		return false, nil, errors.New("it has not one entry of ours, of this apiVersion")
	}
	if form.subresource == "" && form.object[statusSubresource] != nil {
		return false, nil, errors.New("it sets the status, which the server may drop")
	}
	if within(form.object, hasEmptyItem) {
		return false, nil, errors.New("it has a list item that sets nothing, not even its key")
	}
	content, err := c.contentOf(object)
	if err != nil {
		return false, nil, err
	}
	if differs(form.object, content) {
		return false, nil, errors.New("its values are not those of the intent")
	}
	by, err = c.config.Steady.schemas.of(ctx, c.ref.GroupVersion())
	if err != nil {
		return false, nil, err
	}
	wanted, err := by.converter.ObjectToTyped(&unstructured.Unstructured{Object: form.object})
	if err != nil {
		return false, nil, err
	}
	set, err := fieldsOf(wanted)
	if err != nil {
		return false, nil, err
	}
	owned, err := parseFields(entry)
	if err != nil {
		return false, nil, err
	}
	if !owned.Equals(set) {
		return false, nil, errors.New("its fields are not those that we own")
	}
	if _, partial := object.(*metav1.PartialObjectMetadata); partial && !onlyMetadata(set) {
		return false, nil, errors.New("only its metadata was read")
	}
	if hidesForms(object, set) {
		return false, nil, fmt.Errorf("%T does not show in which form its values are stored; read it as unstructured", object)
	}
	live, err := typed.AsTyped(content, wanted.Schema(), wanted.TypeRef(), typed.AllowDuplicates) // as the server reads it
	if err != nil {
		return false, nil, err
	}
	exactly, err = c.proveValues(wanted, set, live, object)
	return exactly, by, err
}

// within tells whether something is said of a value, or of one below it.
func within(content any, is func(any) bool) bool {
	if is(content) {
		return true
	}
	switch content := content.(type) {
	case map[string]any:
		for _, below := range content {
			if within(below, is) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(content, func(item any) bool { return within(item, is) })
	}
	return false
}

// hasEmptyItem tells of a list with an item that sets nothing, and is known by defaults
// alone: the server adds and drops one by turns.
func hasEmptyItem(content any) bool {
	list, _ := content.([]any)
	return slices.ContainsFunc(list, func(item any) bool {
		fields, ok := item.(map[string]any)
		return ok && len(fields) == 0
	})
}

// differs tells early, and without a schema, that a value of the intent is another one,
// as far as no list stands in between. Equivalent quantities do not differ, and neither
// does what is zero from what is absent.
func differs(wanted map[string]any, live value.Value) bool {
	if live == nil || !live.IsMap() {
		return true
	}
	fields := live.AsMap()
	for name, want := range wanted {
		at, ok := fields.Get(name)
		switch want := want.(type) {
		case map[string]any:
			if ok && len(want) > 0 && at.IsMap() && differs(want, at) {
				return true
			}
		case string:
			if !ok && want != "" || ok && (!at.IsString() || want != at.AsString() && !sameQuantity(want, at.AsString())) {
				return true
			}
		case bool:
			if !ok && want || ok && (!at.IsBool() || want != at.AsBool()) {
				return true
			}
		case int64:
			if ok && at.IsInt() && want != at.AsInt() {
				return true
			}
		}
	}
	return false
}

func sameQuantity(a, b string) bool {
	first, err := resource.ParseQuantity(a)
	second, err2 := resource.ParseQuantity(b)
	return err == nil && err2 == nil && first.Cmp(second) == 0
}

// proveValues merges what is wanted into the object.
func (c *call) proveValues(wanted *typed.TypedValue, set *fieldpath.Set, live *typed.TypedValue, object client.Object) (exactly bool, err error) {
	merged, err := live.Merge(wanted)
	if err != nil {
		return false, err
	}
	if value.Equals(merged.AsValue(), live.AsValue()) {
		return true, nil
	}
	changes, err := live.Compare(merged)
	if err != nil {
		return false, err
	}
	if changes.IsSame() || !changes.Removed.Empty() {
		return false, fmt.Errorf("it would change: %s", changes)
	}
	return false, c.proveForms(wanted, set, live, changes, object)
}
