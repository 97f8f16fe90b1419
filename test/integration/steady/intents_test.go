package steady

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/fieldowners"
	"coapply.dev/test/kit"
	"coapply.dev/test/kit/model"
)

// next is the intent of the case: most often the one of before.
func (o *steadyObject) next(ctx context.Context) (*steadyIntent, error) {
	subresource := ""
	if o.kind.forms[0].shape.Fields["status"] != nil && o.Chance(0.25) {
		o.label("an intent for the status")
		if subresource = "status"; o.intents[subresource] == nil {
			if err := o.firstIntent(ctx, subresource); err != nil {
				return nil, err
			}
		}
	}
	last := o.intents[subresource]
	if o.Chance(0.6) {
		o.label("the same intent")
		return last, nil
	}
	changed := *last
	changes := steadyChanges
	if o.Chance(0.5) {
		changes = changes[:6]
	}
	change := model.Pick(o.Dice, changes)
	if len(o.kind.forms) > 1 && o.Chance(0.1) {
		change = anotherVersion
	}
	if len(last.form.lacks) > 0 && o.Chance(0.4) {
		change = newerField
	}
	if !change.do(o, &changed) || len(placesIn(changed.form.shape, changed.value, func(place) bool { return true })) == 0 {
		o.label("the same intent")
		return last, nil
	}
	o.label(change.situation)
	changed.passing = change.odd && o.Chance(0.8)
	return &changed, nil
}

// steadyChange is what becomes of an intent.
type steadyChange struct {
	situation string
	odd       bool // rarely what a controller goes on wanting
	do        func(o *steadyObject, intent *steadyIntent) bool
}

var anotherVersion = steadyChange{"another version", false, func(o *steadyObject, intent *steadyIntent) bool {
	intent.form = model.Pick(o.Dice, o.kind.forms)
	intent.typed = intent.typed && intent.form.typed != nil
	intent.value = withoutEmpty(intent.form.shape, onlyOf(intent.form.shape, intent.value))
	return len(o.kind.forms) > 1
}}

// newerField is a field set, changed or removed that an older Go type does not show.
var newerField = steadyChange{"a newer field", false, func(o *steadyObject, intent *steadyIntent) bool {
	s, newer := intent.form.shape, intent.form.isNewer
	if o.Chance(0.3) {
		all := o.Dice.Config(s, intent.subresource).Build("")
		if set := placesIn(s, all, newer); len(set) > 0 {
			intent.value, intent.typed = graft(s, intent.value, partAt(s, all, model.Pick(o.Dice, set).path)), false
			return true
		}
	}
	set := placesIn(s, intent.value, newer)
	if len(set) == 0 {
		return false
	}
	at := model.Pick(o.Dice, set)
	if o.Chance(0.3) {
		intent.value = withoutEmpty(s, removeAt(s, intent.value, at.path))
	} else {
		intent.value = replaceAt(s, intent.value, at.path, another(o.Dice, at))
	}
	return true
}}

func (f steadyForm) isNewer(p place) bool {
	return isLeafOf(p) && slices.ContainsFunc(f.lacks, func(name string) bool {
		return strings.Contains(p.path+".", "."+name+".") || strings.Contains(p.path, "."+name+"[")
	})
}

// The first ones are the most frequent.
var steadyChanges = []steadyChange{
	{"a value changed", false, func(o *steadyObject, intent *steadyIntent) bool {
		value := otherwise(o.Dice, intent.form.shape, intent.value)
		intent.value = graft(intent.form.shape, intent.value, value)
		return value != nil
	}},
	{"a field dropped", false, func(o *steadyObject, intent *steadyIntent) bool {
		places := placesIn(intent.form.shape, intent.value, func(p place) bool { return !p.key && p.holder != "" })
		if len(places) == 0 {
			return false
		}
		intent.value = withoutEmpty(intent.form.shape, removeAt(intent.form.shape, intent.value, model.Pick(o.Dice, places).path))
		return true
	}},
	{"a field added", false, func(o *steadyObject, intent *steadyIntent) bool {
		s := intent.form.shape
		intent.value = graft(s, intent.value, part(o.Dice, s, o.Dice.Config(s, intent.subresource).Build("")))
		return true
	}},
	{"items reordered", false, func(o *steadyObject, intent *steadyIntent) bool {
		before := intent.value
		intent.value = reordered(o.Dice, intent.form.shape, before)
		return !sameJSON(before, intent.value)
	}},
	{"another text of a value", false, func(o *steadyObject, intent *steadyIntent) bool {
		places := sameTexts(intent.form.shape, intent.value)
		if len(places) == 0 {
			return false
		}
		at := model.Pick(o.Dice, places)
		text, _ := at.value.(string)
		intent.value = replaceAt(intent.form.shape, intent.value, at.path, oneText[text])
		return true
	}},
	{"typed or no longer typed", false, func(_ *steadyObject, intent *steadyIntent) bool {
		intent.typed = !intent.typed && intent.form.typed != nil
		return intent.form.typed != nil
	}},
	anotherVersion,
	{"an empty map or list", true, func(o *steadyObject, intent *steadyIntent) bool {
		return o.putAt(intent, func(p place) (any, bool) {
			switch p.value.(type) {
			case map[string]any:
				return map[string]any{}, p.shape.Kind != model.LeafShape && p.holder != ""
			case []any:
				return []any{}, true
			}
			return nil, false
		})
	}},
	{"a null", true, func(o *steadyObject, intent *steadyIntent) bool {
		return o.putAt(intent, func(p place) (any, bool) { return nil, !p.key && p.holder != "" })
	}},
	{"metadata only", false, func(_ *steadyObject, intent *steadyIntent) bool {
		intent.value = partAt(intent.form.shape, intent.value, ".metadata")
		return intent.subresource == ""
	}},
}

// putAt puts another value somewhere into an intent, which is unstructured then.
func (o *steadyObject) putAt(intent *steadyIntent, by func(place) (any, bool)) bool {
	places := placesIn(intent.form.shape, intent.value, func(p place) bool { _, ok := by(p); return ok })
	if len(places) == 0 {
		return false
	}
	at := model.Pick(o.Dice, places)
	value, _ := by(at)
	intent.value, intent.typed = replaceAt(intent.form.shape, intent.value, at.path, value), false
	return true
}

// steadyRead is a way to come by the object. What it leaves out the check cannot know.
type steadyRead struct {
	situation string
	weight    int
	provable  func(intent *steadyIntent) bool // nil: always
	has       func(form steadyForm) bool      // nil: every form
	read      func(ctx context.Context, o *steadyObject, form steadyForm) (client.Object, error)
}

var steadyReads = []steadyRead{
	{"a read by an older type", 25, never, hasOlder, readOlder},
	{"a typed read", 24, nil, nil, readTyped},
	{"an unstructured read", 27, nil, nil, readUnstructured},
	{"a read through KeepOwn", 10, nil, nil, readKept},
	{"a read of metadata only", 6, aboutMetadata, nil, func(ctx context.Context, o *steadyObject, form steadyForm) (client.Object, error) {
		object := &metav1.PartialObjectMetadata{}
		object.SetGroupVersionKind(form.GroupVersionKind)
		return object, o.client.Get(ctx, o.key, object)
	}},
	{"a read without managed fields", 4, never, nil, func(ctx context.Context, o *steadyObject, form steadyForm) (client.Object, error) {
		object, err := readTyped(ctx, o, form)
		object.SetManagedFields(nil)
		return object, err
	}},
	{"two entries of one identity", 4, never, nil, func(ctx context.Context, o *steadyObject, form steadyForm) (client.Object, error) {
		object, err := readUnstructured(ctx, o, form)
		for _, entry := range object.GetManagedFields() {
			if isOurEntry(entry) {
				object.SetManagedFields(append(object.GetManagedFields(), entry))
				break
			}
		}
		return object, err
	}},
}

func never(*steadyIntent) bool { return false }

func aboutMetadata(intent *steadyIntent) bool {
	fields, _ := intent.value.(map[string]any)
	return len(fields) == 1 && fields["metadata"] != nil
}

func readKept(ctx context.Context, o *steadyObject, form steadyForm) (client.Object, error) {
	read := readTyped
	if o.Chance(0.5) {
		read = readUnstructured
	}
	object, err := read(ctx, o, form)
	if err == nil {
		_, err = fieldowners.KeepOwn(kit.OurManager)(object)
	}
	return object, err
}

func readTyped(ctx context.Context, o *steadyObject, form steadyForm) (client.Object, error) {
	known, err := kit.Scheme.New(form.GroupVersionKind)
	object, ok := known.(client.Object)
	if err != nil || !ok {
		return readUnstructured(ctx, o, form)
	}
	return object, o.client.Get(ctx, o.key, object)
}

func hasOlder(form steadyForm) bool { return olderScheme.AllKnownTypes()[form.GroupVersionKind] != nil }

func readOlder(ctx context.Context, o *steadyObject, form steadyForm) (client.Object, error) {
	known, err := olderScheme.New(form.GroupVersionKind)
	object, ok := known.(client.Object)
	if err != nil || !ok { // another version of it
		return readTyped(ctx, o, form)
	}
	return object, o.older.Get(ctx, o.key, object)
}

func readUnstructured(ctx context.Context, o *steadyObject, form steadyForm) (client.Object, error) {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(form.GroupVersionKind)
	return object, o.client.Get(ctx, o.key, object)
}

// lacksFields tells of fields that the server has and k8s.io/api has not.
func lacksFields(intent *steadyIntent, read client.Object) bool {
	_, raw := read.(*unstructured.Unstructured)
	value, _ := intent.value.(map[string]any)
	return !raw && intent.form.Kind == "EvictionRequest" && (value["spec"] != nil || value["status"] != nil)
}

// hasHiddenForms tells of quantities and times of a custom resource: the server stores
// the text that it was sent, and the Go type has a text of its own.
func hasHiddenForms(intent *steadyIntent) bool {
	value, _ := intent.value.(map[string]any)
	_, quantities, _ := unstructured.NestedFieldNoCopy(value, "spec", "resources")
	_, times, _ := unstructured.NestedFieldNoCopy(value, "status", "conditions")
	return intent.form.Kind == "Devbox" && (quantities || times)
}

// read gives the object as the check is to see it, and whether it can prove anything
// by that.
func (o *steadyObject) read(ctx context.Context, intent *steadyIntent) (client.Object, bool, error) {
	at := o.IntN(100)
	for _, way := range o.reads {
		if at -= way.weight; at >= 0 || way.has != nil && !way.has(intent.form) {
			continue
		}
		form := intent.form
		if len(o.kind.forms) > 1 && o.Chance(0.08) {
			if form = model.Pick(o.Dice, o.kind.forms); form.GroupVersionKind != intent.form.GroupVersionKind {
				o.label("read in another version")
			}
		}
		o.label(way.situation)
		object, err := way.read(ctx, o, form)
		provable := (way.provable == nil || way.provable(intent)) && form.GroupVersionKind == intent.form.GroupVersionKind
		_, raw := object.(*unstructured.Unstructured)
		return object, provable && (raw || !hasHiddenForms(intent)) && !lacksFields(intent, object), err
	}
	return nil, false, fmt.Errorf("the weights of the reads are less than 100")
}
