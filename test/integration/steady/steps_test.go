package steady

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"coapply.dev/test/kit"
	"coapply.dev/test/kit/model"
)

// steadyStep is something that others do to the object between two intents of ours.
type steadyStep struct {
	situation string
	weight    int
	do        func(ctx context.Context, o *steadyObject) error
}

// steadySteps are what happens. The first ones touch nothing of ours.
var steadySteps = []steadyStep{
	{"others apply other fields", 16, othersApply},
	{"others update other fields", 16, othersUpdate},
	{"status churn", 10, statusChurn},
	{"a forced takeover", 8, takeover},
	{"drift with ownership", 8, drift},
	{"drift without ownership", 8, driftUnowned},
	{"a second writer under our name", 4, secondWriter},
	{"a co-owner with the same value", 8, coOwner},
	{"a co-owner with another text of the value", 10, coOwnerText},
	{"another owner lets go", 4, othersLetGo},
	{"admission comes", 4, admissionOn},
	{"admission goes", 8, admissionOff},
	{"managed fields wiped", 2, wipe},
	{"managed fields forged", 6, forge},
	{"recreated", 2, recreate},
	{"written through scale", 6, writtenThroughScale},
	{"migrated to us", 3, migrated},
	{"renamed to us", 3, renamed},
}

var steadyWeights = func() (sum int) {
	for _, step := range steadySteps {
		sum += step.weight
	}
	return sum
}()

// happens is one random step. It says whether something happened.
func (o *steadyObject) happens(ctx context.Context) bool {
	at := o.IntN(steadyWeights)
	for _, step := range steadySteps {
		if at -= step.weight; at < 0 {
			if err := step.do(ctx, o); err != nil {
				return false
			}
			o.label(step.situation)
			return true
		}
	}
	return false
}

func (o *steadyObject) anyForm() steadyForm { return model.Pick(o.Dice, o.kind.forms) }

// ours is one of our intents.
func (o *steadyObject) ours() *steadyIntent {
	if status := o.intents["status"]; status != nil && o.Chance(0.4) {
		return status
	}
	return o.intents[""]
}

func othersApply(ctx context.Context, o *steadyObject) error {
	form := o.anyForm()
	subresource := o.Subresource(form.shape)
	value := o.free(form, subresource)
	if value == nil {
		return errNoStep
	}
	return o.apply(ctx, form, model.Pick(o.Dice, []string{"a", "b", "rival"}), subresource, value, o.Chance(0.3))
}

func othersUpdate(ctx context.Context, o *steadyObject) error {
	form := o.formOf()
	subresource := o.Subresource(form.shape)
	value := o.free(form, subresource)
	if value == nil {
		return errNoStep
	}
	object := o.raw.DeepCopy()
	object.Object, _ = graft(form.shape, object.Object, value).(map[string]any)
	return o.put(ctx, "editor", subresource, object)
}

// statusChurn writes what controllers write all the time; lists are replaced.
func statusChurn(ctx context.Context, o *steadyObject) error {
	form := o.formOf()
	if form.shape.Fields["status"] == nil {
		return errNoStep
	}
	body, err := json.Marshal(o.Dice.Config(form.shape, "status").Build(""))
	if err != nil {
		return err
	}
	return o.patch(ctx, form, "kubelet", types.MergePatchType, body, "status")
}

func takeover(ctx context.Context, o *steadyObject) error {
	intent := o.ours()
	value := otherwise(o.Dice, intent.form.shape, intent.value)
	if value == nil {
		return errNoStep
	}
	if err := o.apply(ctx, intent.form, "rival", intent.subresource, value, true); err != nil {
		return err
	}
	if o.Chance(0.4) && o.takeBack(ctx, intent) == nil {
		o.label("taken back")
	}
	return nil
}

func drift(ctx context.Context, o *steadyObject) error {
	intent := o.ours()
	value := otherwise(o.Dice, intent.form.shape, intent.value)
	if value == nil {
		return errNoStep
	}
	if o.raw.GroupVersionKind() != intent.form.GroupVersionKind {
		if err := o.refresh(ctx, intent.form); err != nil {
			return err
		}
	}
	object := o.raw.DeepCopy()
	object.Object, _ = graft(intent.form.shape, object.Object, value).(map[string]any)
	return o.put(ctx, "editor", intent.subresource, object)
}

// secondWriter gives up what it does not know of, and sets the rest.
func secondWriter(ctx context.Context, o *steadyObject) error {
	if o.sole {
		return errors.New("ours is the only one")
	}
	intent := o.ours()
	value := o.Dice.Config(intent.form.shape, intent.subresource).Build("")
	if o.Chance(0.5) {
		value = part(o.Dice, intent.form.shape, intent.value)
	}
	return o.apply(ctx, intent.form, kit.OurManager, intent.subresource, value, true)
}

func coOwner(ctx context.Context, o *steadyObject) error {
	intent := o.ours()
	_, body, err := o.config(intent) // as it is sent, after its type
	if err != nil {
		return err
	}
	var sent map[string]any
	if err := utiljson.Unmarshal(body, &sent); err != nil {
		return err
	}
	value := part(o.Dice, intent.form.shape, sent)
	if o.Chance(0.3) {
		value = onlyOf(intent.form.shape, sent)
	}
	return o.apply(ctx, intent.form, model.Pick(o.Dice, []string{"a", "rival"}), intent.subresource, onlyOf(intent.form.shape, value), false)
}

// coOwnerText sets a value of ours with another text, and we apply again or not.
func coOwnerText(ctx context.Context, o *steadyObject) error {
	intent := o.ours()
	places := sameTexts(intent.form.shape, intent.value)
	if len(places) == 0 {
		return errNoStep
	}
	at := model.Pick(o.Dice, places)
	text, _ := at.value.(string)
	value := replaceAt(intent.form.shape, partAt(intent.form.shape, intent.value, at.path), at.path, oneText[text])
	if err := o.apply(ctx, intent.form, "rival", intent.subresource, value, o.Chance(0.7)); err != nil {
		return err
	}
	if o.Chance(0.5) {
		return o.takeBack(ctx, intent)
	}
	return nil
}

func othersLetGo(ctx context.Context, o *steadyObject) error {
	intent := o.ours()
	by := model.Pick(o.Dice, []string{"rival", "a", "b"})
	return o.apply(ctx, intent.form, by, intent.subresource, nil, false)
}

func recreate(ctx context.Context, o *steadyObject) error {
	if o.kind.lingers {
		return errNoStep
	}
	before := o.intents
	if err := o.remove(ctx); err != nil {
		return err
	}
	if err := o.create(ctx); err != nil {
		return err
	}
	if o.Chance(0.7) { // as it was
		if err := o.force(ctx, before[""]); err == nil {
			o.intents[""] = before[""]
		}
	}
	return nil
}

func admissionOn(ctx context.Context, o *steadyObject) error {
	return o.admission(ctx, model.Pick(o.Dice, []string{"override", "annotate", "late"}))
}

func admissionOff(ctx context.Context, o *steadyObject) error {
	if o.admitted == "" {
		return errNoStep
	}
	return o.admission(ctx, "")
}

func (o *steadyObject) admission(ctx context.Context, mode string) error {
	value := "null"
	if mode != "" {
		value = fmt.Sprintf("%q", mode)
	}
	body := fmt.Sprintf(`{"metadata":{"labels":{%q:%s}}}`, switchLabel, value)
	if err := o.patch(ctx, o.formOf(), "switch", types.MergePatchType, []byte(body), ""); err != nil {
		return err
	}
	o.admitted = mode
	if mode == "override" && o.Chance(0.5) { // admission answers our own write
		return o.takeBack(ctx, o.intents[""])
	}
	return nil
}

// onlyOf leaves what the shape does not know out: apiVersion, kind, the name.
func onlyOf(s *model.Shape, value any) any { return model.Flatten(s, value).Build("") }
