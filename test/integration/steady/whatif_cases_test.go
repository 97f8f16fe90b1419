package steady

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"coapply.dev/test/kit"
	"coapply.dev/test/kit/model"
)

// whatIfObject is an object that one to four managers write.
type whatIfObject struct {
	*steadyObject

	home     steadyForm               // the version that nearly all of them use
	managers []string                 // the first one creates the object
	wants    map[string]*steadyIntent // by manager and subresource
}

const scale = "scale"

var scaleForm = steadyForm{GroupVersionKind: schema.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "Scale"}}

// shapeOfWhatIf is a custom kind with the subresource scale, and with a field for each way to merge values.
func shapeOfWhatIf() steadyKind {
	spec := maps.Clone(model.ShapeKind.Shape.Fields["spec"].Fields)
	spec["steps"] = oneOf([]any{"a"}, []any{"b", "a"})
	spec["frame"] = oneOf(map[string]any{"w": int64(1)}, map[string]any{"w": int64(1), "h": int64(2)})
	spec["tree"] = mapOf(mapOf(model.Words, "a", "b.c"), "x", "y/z")
	spec["blob"] = freeObject()
	shape := steadyShape(map[string]*model.Shape{"spec": model.ObjectOf(spec), "status": model.ShapeKind.Shape.Fields["status"]})
	return steadyKind{scale: true, base: "spec: {size: 1}", forms: []steadyForm{{GroupVersionKind: model.ShapeKind.GroupVersionKind, shape: shape}}}
}

// object is the life of one object.
func (r *whatIfRun) object(ctx context.Context, number int) error {
	o := r.newObject(number)
	if err := o.create(ctx); err != nil {
		return err
	}
	cases := 0
	for range 10 * whatIfCases {
		counted, err := r.turn(ctx, o)
		if err != nil {
			return fmt.Errorf("%w\nbefore: %s\n  %s", err, asJSON(o.raw.Object), o.toldStory())
		}
		if counted {
			cases++
		}
		if cases == whatIfCases {
			break
		}
	}
	return o.remove(ctx)
}

func (r *whatIfRun) newObject(number int) *whatIfObject {
	kind := r.kinds[number%len(r.kinds)]
	key := client.ObjectKey{Namespace: r.namespace, Name: fmt.Sprintf("whatif-%s-%d", r.namespace, number)}
	if kind.cluster {
		key.Namespace = ""
	}
	dice := model.NewDice(r.seed, uint64(number))
	managers := []string{kit.OurManager, "a", "b", "kubectl"}
	dice.Shuffle(len(managers), func(i, j int) { managers[i], managers[j] = managers[j], managers[i] })
	return &whatIfObject{
		steadyObject: &steadyObject{Dice: dice, client: r.client, kind: kind, key: key},
		home:         model.Pick(dice, kind.forms), managers: managers[:1+dice.IntN(len(managers))], wants: map[string]*steadyIntent{},
	}
}

func (o *whatIfObject) create(ctx context.Context) error {
	var base map[string]any
	if err := yaml.Unmarshal([]byte(o.kind.base), &base); err != nil {
		return err
	}
	apply, err := o.Chance(0.5), error(nil)
	for _, more := range []any{o.value(""), o.value(""), nil} { // the API server may refuse a random value
		value := base
		if more != nil {
			value, _ = graft(o.home.shape, base, more).(map[string]any)
		}
		if apply {
			err = o.steadyObject.apply(ctx, o.home, o.managers[0], "", value, false)
		} else {
			o.raw = &unstructured.Unstructured{Object: o.body(o.home, value)}
			err = o.client.Create(ctx, o.raw, client.FieldOwner(o.managers[0]))
		}
		if !isRefusal(err) {
			return err
		}
	}
	return err
}

// turn is an unforced apply of a random manager most often, and another write of it otherwise.
func (r *whatIfRun) turn(ctx context.Context, o *whatIfObject) (counted bool, err error) {
	by := model.Pick(o.Dice, o.managers)
	if o.Chance(0.22) {
		status := apierrors.APIStatus(nil)
		if err := o.write(ctx, by); err != nil && !errors.Is(err, errNoStep) && !errors.As(err, &status) {
			return false, err
		}
		return false, nil
	}
	intent := o.next(by)
	if intent.subresource != scale && o.raw.GroupVersionKind() != intent.form.GroupVersionKind {
		if err := o.refresh(ctx, intent.form); err != nil {
			return false, err
		}
	}
	applied := o.raw
	refused, err := r.apply(ctx, o, by, intent)
	if err != nil || refused {
		return false, err
	}
	conflict := o.raw == applied
	if !intent.passing && (!conflict || o.Chance(0.8)) {
		o.wants[by+intent.subresource] = intent
	}
	if conflict && o.Chance(0.25) {
		return true, o.forced(ctx, by, intent)
	}
	return true, nil
}

// forced applies an intent by force. The API server may refuse it.
func (o *whatIfObject) forced(ctx context.Context, by string, intent *steadyIntent) error {
	_, body, err := o.config(intent)
	if err != nil {
		return err
	}
	if err := o.applyBody(ctx, by, intent, body, client.ForceOwnership); err != nil && !isRefusal(err) {
		return err
	}
	return nil
}

// next draws the intent of an apply: a new one, the last one of this manager, or the last one with a change.
func (o *whatIfObject) next(by string) *steadyIntent {
	if o.kind.scale && o.Chance(0.006) {
		return &steadyIntent{form: scaleForm, subresource: scale, passing: true, value: map[string]any{"spec": map[string]any{"replicas": int64(1 + o.IntN(2))}}}
	}
	subresource := o.Subresource(o.home.shape)
	last := o.wants[by+subresource]
	if last == nil || o.Chance(0.3) {
		return o.odd(&steadyIntent{form: o.home, subresource: subresource, value: o.value(subresource)})
	}
	if o.Chance(0.4) {
		return last
	}
	changed := *last
	if change := model.Pick(o.Dice, steadyChanges); change.situation != anotherVersion.situation {
		change.do(o.steadyObject, &changed)
		changed.passing = change.odd
		if _, _, err := o.config(&changed); err != nil { // a value that the Go type refuses, such as the time of a Lease
			changed.typed = false
		}
	}
	return o.odd(&changed)
}

// value draws a configuration: a large one, or some leaves of it.
func (o *whatIfObject) value(subresource string) any {
	all := o.Dice.Config(o.home.shape, subresource).Build("")
	if o.Chance(0.4) {
		return all
	}
	some := part(o.Dice, o.home.shape, all)
	for range o.IntN(3) {
		some = graft(o.home.shape, some, part(o.Dice, o.home.shape, all))
	}
	return some
}

// odd makes an intent, rarely, one of those that whatif does not compute.
func (o *whatIfObject) odd(intent *steadyIntent) *steadyIntent {
	changed := *intent
	changed.passing, changed.typed = true, false
	shape := o.home.shape
	switch n := o.IntN(1000); {
	case n < 6 && len(o.kind.forms) > 1:
		changed.form = model.Pick(o.Dice, o.kind.forms)
		changed.value = onlyOf(changed.form.shape, changed.value)
	case n < 9 && shape.Fields["status"] != nil: // the status through the object, or another field through the status
		other := map[string]string{"": "status", "status": ""}[intent.subresource]
		changed.value = graft(shape, changed.value, o.Dice.Config(shape, other).Build(""))
	case n < 12 && intent.subresource == "status":
		changed.value = graft(shape, changed.value, partAt(shape, o.Dice.Config(shape, "").Build(""), ".metadata"))
	default:
		return intent
	}
	return &changed
}

// write is a write that is not compared.
func (o *whatIfObject) write(ctx context.Context, by string) error {
	form := o.formOf()
	subresource := o.Subresource(form.shape)
	switch n := o.IntN(1000); {
	case n < 250:
		return o.forced(ctx, by, &steadyIntent{form: form, subresource: subresource, value: o.value(subresource)})
	case n < 550:
		return o.edit(ctx, by, form, subresource)
	case n < 750:
		body, err := json.Marshal(o.value(subresource))
		if err != nil {
			return err
		}
		return o.patch(ctx, form, by, types.MergePatchType, body, subresource)
	case n < 850:
		return writtenThroughScale(ctx, o.steadyObject)
	case n < 910:
		return forge(ctx, o.steadyObject)
	case n < 970:
		return o.clientSideApply(ctx, form)
	case n < 985:
		return wipe(ctx, o.steadyObject)
	}
	return o.steadyObject.apply(ctx, form, by, subresource, nil, false) // by which the manager releases all fields
}

// edit sets or removes fields of the object, and writes the whole object.
func (o *whatIfObject) edit(ctx context.Context, by string, form steadyForm, subresource string) error {
	object := o.raw.DeepCopy()
	places := placesIn(form.shape, object.Object, func(p place) bool {
		return isLeafOf(p) && strings.HasPrefix(p.path, ".status") == (subresource == "status")
	})
	var edited any
	if len(places) > 0 && o.Chance(0.3) {
		edited = removeAt(form.shape, object.Object, model.Pick(o.Dice, places).path)
	} else {
		edited = graft(form.shape, object.Object, o.value(subresource))
	}
	content, ok := edited.(map[string]any)
	if !ok { // the value has no leaf
		return errNoStep
	}
	object.Object = content
	return o.put(ctx, by, subresource, object)
}

// clientSideApply is a write of kubectl without server-side apply. A server-side apply by kubectl may then take the fields
// over that the annotation holds.
func (o *whatIfObject) clientSideApply(ctx context.Context, form steadyForm) error {
	value := o.body(form, o.value(""))
	config, err := json.Marshal(value)
	if err != nil {
		return err
	}
	annotated := &unstructured.Unstructured{Object: value}
	annotations := annotated.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[corev1.LastAppliedConfigAnnotation] = string(config)
	annotated.SetAnnotations(annotations)
	body, err := json.Marshal(annotated.Object)
	if err != nil {
		return err
	}
	return o.patch(ctx, form, "kubectl-client-side-apply", types.MergePatchType, body, "")
}
