package steady

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"coapply.dev/apply"
	"coapply.dev/test/kit"
	"coapply.dev/test/kit/model"
)

// steadyObject is an object on the API server, our intents for it, and what happened
// to it since it was last judged.
type steadyObject struct {
	model.Dice

	client   client.Client
	older    client.Client  // that knows older types
	us       *apply.Applier // without the check, for transfers
	kind     steadyKind
	key      client.ObjectKey
	reads    []steadyRead
	sole     bool                       // nobody else writes under our name
	raw      *unstructured.Unstructured // as the last answer had it
	intents  map[string]*steadyIntent   // by subresource
	admitted string                     // what the switch says
	labels   []string                   // the situations of the case
	story    []string                   // every write since the object was made
}

// steadyIntent is what we want of the object, through a subresource.
type steadyIntent struct {
	form        steadyForm
	subresource string
	value       any
	typed       bool
	contested   bool // it did not land
	passing     bool // the next one is that of before
}

// body gives a value as the object that is sent.
func (o *steadyObject) body(form steadyForm, value any) map[string]any {
	fields, _ := value.(map[string]any)
	u := unstructured.Unstructured{Object: runtime.DeepCopyJSON(fields)}
	if u.Object == nil {
		u.Object = map[string]any{}
	}
	u.SetGroupVersionKind(form.GroupVersionKind)
	u.SetName(o.key.Name)
	u.SetNamespace(o.key.Namespace)
	return u.Object
}

func (o *steadyObject) empty(form steadyForm) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: o.body(form, nil)}
}

// config is the intent's configuration and the bytes that a plain client sends of it.
func (o *steadyObject) config(intent *steadyIntent) (runtime.ApplyConfiguration, []byte, error) {
	content := o.body(intent.form, intent.value)
	raw, err := json.Marshal(content)
	if err != nil || !intent.typed {
		return client.ApplyConfigurationFromUnstructured(&unstructured.Unstructured{Object: content}), raw, err
	}
	config := intent.form.typed()
	if err := json.Unmarshal(raw, config); err != nil {
		return nil, nil, err
	}
	raw, err = json.Marshal(config)
	return config, raw, err
}

// patch is a plain write of somebody.
func (o *steadyObject) patch(ctx context.Context, form steadyForm, by string, kind types.PatchType, body []byte, subresource string, options ...client.PatchOption) error {
	object, patch := o.empty(form), client.RawPatch(kind, body)
	options = append(options, client.FieldOwner(by))
	var err error
	if subresource == "" {
		err = o.client.Patch(ctx, object, patch, options...)
	} else {
		through := &client.SubResourcePatchOptions{PatchOptions: *(&client.PatchOptions{}).ApplyOptions(options)}
		err = o.client.SubResource(subresource).Patch(ctx, object, patch, through)
	}
	o.tell(fmt.Sprintf("%s patches %s %s", by, subresource, kind), body, err)
	if err == nil && object.GetKind() == form.Kind { // a Scale is not the object
		o.raw = object
	}
	return err
}

// apply is a plain apply of somebody.
func (o *steadyObject) apply(ctx context.Context, form steadyForm, by, subresource string, value any, force bool) error {
	body, err := json.Marshal(o.body(form, value))
	if err != nil {
		return err
	}
	var options []client.PatchOption
	if force {
		options = append(options, client.ForceOwnership)
	}
	return o.patch(ctx, form, by, types.ApplyPatchType, body, subresource, options...)
}

// put is a plain write of the whole object.
func (o *steadyObject) put(ctx context.Context, by, subresource string, object *unstructured.Unstructured) error {
	body, err := json.Marshal(object.Object)
	if err != nil {
		return err
	}
	object = object.DeepCopy()
	if subresource == "" {
		err = o.client.Update(ctx, object, client.FieldOwner(by))
	} else {
		err = o.client.SubResource(subresource).Update(ctx, object, client.FieldOwner(by))
	}
	o.tell(by+" puts "+subresource, body, err)
	if err == nil {
		o.raw = object
	}
	return err
}

// refresh reads the object in a version.
func (o *steadyObject) refresh(ctx context.Context, form steadyForm) error {
	live := o.empty(form)
	if err := o.client.Get(ctx, o.key, live); err != nil {
		return err
	}
	o.raw = live
	return nil
}

func (o *steadyObject) tell(what string, body []byte, err error) {
	line := what
	if err != nil {
		line += ": " + err.Error()
	}
	o.story = append(o.story, line+"\n    "+string(body))
}

// formOf is the form of what was last read.
func (o *steadyObject) formOf() steadyForm {
	at := slices.IndexFunc(o.kind.forms, func(f steadyForm) bool { return f.GroupVersionKind == o.raw.GroupVersionKind() })
	return o.kind.forms[max(at, 0)]
}

// create makes the object anew, with what makes it valid and our first intents.
func (o *steadyObject) create(ctx context.Context) error {
	var base map[string]any
	if err := yaml.Unmarshal([]byte(o.kind.base), &base); err != nil {
		return err
	}
	form := o.kind.forms[0]
	o.intents, o.admitted = map[string]*steadyIntent{}, ""
	if err := o.apply(ctx, form, "base", "", base, false); err != nil {
		return fmt.Errorf("%s: %w", o.kind.base, err)
	}
	return o.firstIntent(ctx, "")
}

// firstIntent makes a random intent of ours and has it land, by force.
func (o *steadyObject) firstIntent(ctx context.Context, subresource string) error {
	form := model.Pick(o.Dice, o.kind.forms)
	intent := &steadyIntent{form: form, subresource: subresource, typed: form.typed != nil && o.Chance(0.6)}
	var err error
	for range 20 { // what validation refuses
		intent.value = o.Dice.Config(form.shape, subresource).Build("")
		if err = o.force(ctx, intent); err == nil {
			o.intents[subresource] = intent
			return nil
		}
	}
	return fmt.Errorf("no intent lands: %w", err)
}

// force has an intent land, whoever owns its fields.
func (o *steadyObject) force(ctx context.Context, intent *steadyIntent) error {
	_, body, err := o.config(intent)
	if err != nil {
		return err
	}
	err = o.patch(ctx, intent.form, kit.OurManager, types.ApplyPatchType, body, intent.subresource, client.ForceOwnership)
	intent.contested = err != nil
	return err
}

// takeBack undoes a takeover by force, as somebody else of our name would: what our own
// applier remembers of the object is older then.
func (o *steadyObject) takeBack(ctx context.Context, intent *steadyIntent) error {
	if o.sole {
		return errNoStep
	}
	return o.force(ctx, intent)
}

func (o *steadyObject) remove(ctx context.Context) error {
	return client.IgnoreNotFound(o.client.Delete(ctx, o.empty(o.kind.forms[0])))
}

// wanted is every leaf that an intent of ours sets.
func (o *steadyObject) wanted(path string) bool {
	for _, intent := range o.intents {
		set := placesIn(intent.form.shape, intent.value, func(p place) bool {
			return !p.key && (p.path == path || p.shape.Kind == model.LeafShape && model.Within(path, p.path))
		})
		if len(set) > 0 {
			return true
		}
	}
	return false
}

// free is a random small configuration of fields that we do not set, or nil.
func (o *steadyObject) free(form steadyForm, subresource string) any {
	value := part(o.Dice, form.shape, o.Dice.Config(form.shape, subresource).Build(""))
	value = rewrite(form.shape, value, func(p place) (any, bool) { return p.value, !isLeafOf(p) || !o.wanted(p.path) })
	if len(placesIn(form.shape, value, isLeafOf)) == 0 {
		return nil
	}
	return withoutEmpty(form.shape, value)
}

func (o *steadyObject) label(situation string) {
	if !slices.Contains(o.labels, situation) {
		o.labels = append(o.labels, situation)
	}
}

// errNoStep says that a step makes no sense for the object as it is.
var errNoStep = errors.New("not now")

func (o *steadyObject) toldStory() string { return strings.Join(o.story, "\n  ") }
