package steady

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/ownership"
	"coapply.dev/test/kit"
	"coapply.dev/test/kit/model"
)

// driftUnowned changes a value of ours and then puts the managed fields back as they
// were, so that they say that it is ours as before.
func driftUnowned(ctx context.Context, o *steadyObject) error {
	if err := o.refresh(ctx, o.ours().form); err != nil {
		return err
	}
	before := o.raw.GetManagedFields()
	if err := drift(ctx, o); err != nil {
		return err
	}
	object := o.raw.DeepCopy()
	object.SetManagedFields(before)
	return o.put(ctx, "forger", "", object)
}

// wipe takes all managed fields off the object.
func wipe(ctx context.Context, o *steadyObject) error {
	return o.patch(ctx, o.formOf(), "wiper", types.MergePatchType, []byte(`{"metadata":{"managedFields":[{}]}}`), "")
}

// forge has our entry say something else: a field less, a map or an item that we did
// not name, another version, or it is gone.
func forge(ctx context.Context, o *steadyObject) error {
	object := o.raw.DeepCopy()
	entries := object.GetManagedFields()
	at := slices.IndexFunc(entries, isOurEntry)
	if at < 0 {
		return errNoStep
	}
	switch n := o.IntN(10); {
	case n < 1 && len(entries) > 1:
		entries = slices.Delete(entries, at, at+1)
	case n < 2 && len(o.kind.forms) > 1:
		entries[at].APIVersion = model.Pick(o.Dice, o.kind.forms).GroupVersion().String()
	default:
		var owned map[string]any
		if err := json.Unmarshal(entries[at].FieldsV1.GetRawBytes(), &owned); err != nil {
			return err
		}
		o.forgeFields(owned)
		raw, err := json.Marshal(owned)
		if err != nil {
			return err
		}
		entries[at].FieldsV1 = metav1.NewFieldsV1(string(raw))
	}
	object.SetManagedFields(entries)
	return o.put(ctx, "forger", "", object)
}

func isOurEntry(e metav1.ManagedFieldsEntry) bool {
	return e.Manager == kit.OurManager && e.Operation == metav1.ManagedFieldsOperationApply && e.FieldsV1 != nil
}

// forgeFields goes down to a random depth and adds the container, or removes a field.
func (o *steadyObject) forgeFields(owned map[string]any) {
	names := slices.Sorted(maps.Keys(owned))
	if len(names) == 0 {
		return
	}
	name := model.Pick(o.Dice, names)
	below, _ := owned[name].(map[string]any)
	switch {
	case len(below) > 0 && o.Chance(0.7):
		o.forgeFields(below)
	case o.Chance(0.5) && len(names) > 1:
		delete(owned, name)
	default:
		owned["."] = map[string]any{}
	}
}

// writtenThroughScale writes the replicas through the subresource, under our name or another.
func writtenThroughScale(ctx context.Context, o *steadyObject) error {
	if !o.kind.scale {
		return errNoStep
	}
	by, form := model.Pick(o.Dice, []string{kit.OurManager, "scaler"}), o.kind.forms[0]
	spec := fmt.Sprintf(`"spec":{"replicas":%d}`, 1+o.IntN(2))
	kind, body, options := types.MergePatchType, "{"+spec+"}", []client.PatchOption(nil)
	if o.Chance(0.5) {
		kind, options = types.ApplyPatchType, []client.PatchOption{client.ForceOwnership}
		body = fmt.Sprintf(`{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":%q,"namespace":%q},%s}`, o.key.Name, o.key.Namespace, spec)
	}
	if err := o.patch(ctx, form, by, kind, []byte(body), "scale", options...); err != nil {
		return err
	}
	return o.refresh(ctx, form)
}

// migrated brings what editors wrote under our management, and leaves our intent as
// it is.
func migrated(ctx context.Context, o *steadyObject) error {
	return o.transferred(ctx, ownership.Migrate, "editor")
}

func renamed(ctx context.Context, o *steadyObject) error {
	return o.transferred(ctx, ownership.Rename, "rival")
}

func (o *steadyObject) transferred(ctx context.Context, verb transferVerb, from string) error {
	named := func(e metav1.ManagedFieldsEntry) bool { return e.Manager == from }
	if !slices.ContainsFunc(o.raw.GetManagedFields(), named) {
		return errNoStep
	}
	form := o.ours().form
	transfer, err := verb(ctx, o.us, apply.ObjectRef{GroupVersionKind: form.GroupVersionKind, NamespacedName: o.key}, ownership.From{Manager: from})
	if err != nil {
		return err
	}
	if len(transfer.Moves()) == 0 {
		return errNoStep
	}
	_, err = transfer.Do(ctx)
	o.tell(fmt.Sprintf("transfer from %s: %v", from, transfer), nil, err)
	if err != nil {
		return err
	}
	return o.refresh(ctx, form)
}

type transferVerb = func(ctx context.Context, applier *apply.Applier, object apply.ObjectRef, from ...ownership.From) (*ownership.Transfer, error)
