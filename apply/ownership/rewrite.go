package ownership

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/internal/wire"
	"coapply.dev/fieldowners"
)

// rewrite is the state of an object at one resourceVersion, with the plan of the transfer for this state.
type rewrite struct {
	live    *unstructured.Unstructured // the object that was read
	objects fieldowners.Objects        // the same object in each apiVersion that the plan needs
	plan    fieldowners.TransferPlan
	sent    int // the number of writes and dry runs sent so far
}

var errAbsent = errors.New("the object does not exist")

// read reads the live object, in several apiVersions if necessary, and plans the transfer. If the object changes between
// these reads, the error is a StaleWriteError.
func (t *Transfer) read(ctx context.Context) (*rewrite, error) {
	live, err := readLive(ctx, t.applier, t.object)
	switch {
	case wire.IsAbsent(err, t.object.Name) && t.object.UID != "":
		return nil, &apply.UIDMismatchError{Object: t.object, Err: errAbsent}
	case err != nil:
		return nil, err
	}
	r := &rewrite{live: live, objects: fieldowners.Objects{live.GetAPIVersion(): live.Object}}
	r.plan, err = t.fields.Plan(r.live.GetManagedFields(), r.objects)
	if err == nil && len(r.plan.Unread) > 0 {
		if err = t.readVersions(ctx, r); err == nil {
			r.plan, err = t.fields.Plan(r.live.GetManagedFields(), r.objects)
		}
	}
	return r, apply.Classify(ctx, t.object, err)
}

// readLive reads the live object, which must have the uid of the reference if there is one.
func readLive(ctx context.Context, applier *apply.Applier, object apply.ObjectRef) (*unstructured.Unstructured, error) {
	live := wire.Named(object.GroupVersionKind, object.NamespacedName)
	err := applier.Config().LiveReader.Get(ctx, object.NamespacedName, live)
	switch {
	case err != nil:
		return nil, apply.Classify(ctx, object, fmt.Errorf("reading the object: %w", err))
	case object.UID != "" && object.UID != live.GetUID():
		return nil, &apply.UIDMismatchError{Object: object, Err: fmt.Errorf("the live object has uid %s", live.GetUID())}
	case live.GetUID() == "" || live.GetResourceVersion() == "":
		return nil, &apply.RefusedError{Object: object, Err: errors.New("nothing was written: LiveReader returned the object without uid or resourceVersion, which the write must contain")}
	}
	return live, nil
}

// readVersions reads the object in the other apiVersions that the plan needs.
func (t *Transfer) readVersions(ctx context.Context, r *rewrite) error {
	for _, version := range r.plan.Unread {
		object := wire.Named(schema.FromAPIVersionAndKind(version, r.live.GetKind()), t.object.NamespacedName)
		err := t.applier.Config().LiveReader.Get(ctx, t.object.NamespacedName, object)
		switch {
		case meta.IsNoMatchError(err) || apierrors.IsNotFound(err):
			r.objects[version] = nil
		case err != nil:
			return fmt.Errorf("reading the object in %s: %w", version, err)
		case object.GetUID() != r.live.GetUID() || object.GetResourceVersion() != r.live.GetResourceVersion():
			return &apply.StaleWriteError{Object: t.object, Err: errors.New("the object changed between the reads in two apiVersions")}
		default:
			r.objects[version] = object.Object
		}
	}
	return nil
}

// rehearse returns an error if the API server would not store the given managed fields unchanged. It checks this by a
// dry run, but only if an entry and the object differ in their apiVersion: a CustomResourceDefinition may no longer
// have the version of the entry. If the API server cannot convert an entry, a write does not store the sent managed
// fields. Kubernetes 1.36 then erases the managed fields of all managers, and Kubernetes 1.37 keeps the old managed
// fields.
func (r *rewrite) rehearse(ctx context.Context, c client.Client, after []metav1.ManagedFieldsEntry, fieldManager client.FieldOwner) error {
	other := slices.IndexFunc(after, func(e metav1.ManagedFieldsEntry) bool { return e.APIVersion != r.live.GetAPIVersion() })
	if other < 0 {
		return nil
	}
	stored, err := r.send(ctx, c, after, fieldManager, client.DryRunAll)
	if err != nil {
		return err
	}
	if err := r.verify(after, stored.GetManagedFields()); err != nil {
		return fmt.Errorf(
			"nothing was written: in a dry run, the API server did not store the managed fields as sent, perhaps because it no longer has the apiVersion %s: %w", after[other].APIVersion, err)
	}
	return nil
}

// verify returns an error if the stored managed fields differ from the sent managed fields. Possible reasons are a
// missing conversion between versions, a mutating webhook, or an object so large that the API server drops managed
// fields.
func (r *rewrite) verify(sent, stored []metav1.ManagedFieldsEntry) error {
	if err := r.plan.Done(stored); err != nil {
		return err
	}
	return fieldowners.Stored(sent, stored)
}

// send stores the given managed fields, and returns the object in the response. The JSON patch replaces the uid
// and the resourceVersion with the values that were read. The API server rejects a wrong resourceVersion as a stale
// write, and a wrong uid as a change of an immutable field. JSON patch tests of these two fields would not work: a
// failed test is a 422 that looks like other errors.
func (r *rewrite) send(ctx context.Context, c client.Client, after []metav1.ManagedFieldsEntry, options ...client.PatchOption) (*unstructured.Unstructured, error) {
	patch, err := json.Marshal([]map[string]any{
		{"op": "replace", "path": "/metadata/uid", "value": r.live.GetUID()},
		{"op": "replace", "path": "/metadata/resourceVersion", "value": r.live.GetResourceVersion()},
		{"op": "replace", "path": "/metadata/managedFields", "value": after},
	})
	if err != nil {
		return nil, err
	}
	response := wire.Named(r.live.GroupVersionKind(), client.ObjectKeyFromObject(r.live))
	r.sent++
	err = c.Patch(ctx, response, client.RawPatch(types.JSONPatchType, patch), options...)
	return response, err
}
