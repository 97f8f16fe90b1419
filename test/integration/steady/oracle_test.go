package steady

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/fieldowners"
	"coapply.dev/test/kit"
)

// steadyVerdict is what a plain apply of an intent did to the object.
type steadyVerdict struct {
	changed  string // values and owners, as a difference; "" is a no-op
	bumped   bool   // another resourceVersion all the same
	conflict bool
	refused  bool // by validation and the like; nothing changed then
}

func (v steadyVerdict) noop() bool { return v.changed == "" && !v.refused }

// judge applies an intent as a plain client does, unforced, and says what it did.
func (o *steadyObject) judge(ctx context.Context, intent *steadyIntent, before *unstructured.Unstructured) (steadyVerdict, error) {
	_, body, err := o.config(intent)
	if err != nil {
		return steadyVerdict{}, err
	}
	v := steadyVerdict{}
	err = o.patch(ctx, intent.form, kit.OurManager, types.ApplyPatchType, body, intent.subresource)
	v.conflict, v.refused = apierrors.IsConflict(err), isRefusal(err)
	if v.conflict {
		v.changed = err.Error()
	}
	if v.conflict || v.refused {
		return v, nil
	}
	if err != nil {
		return v, err
	}
	v.bumped = before.GetResourceVersion() != o.raw.GetResourceVersion()
	v.changed, err = differenceOf(before, o.raw)
	return v, err
}

// isRefusal tells what the server will not take, whatever the object is like.
func isRefusal(err error) bool {
	status := apierrors.APIStatus(nil)
	return errors.As(err, &status) && (apierrors.IsInvalid(err) || apierrors.IsInternalError(err) || apierrors.IsBadRequest(err) ||
		apierrors.IsForbidden(err) || apierrors.ReasonForError(err) == "")
}

// emptyWrite gives what admission alone makes of the object when we write.
func (o *steadyObject) emptyWrite(ctx context.Context, intent *steadyIntent) (*unstructured.Unstructured, error) {
	object := o.empty(intent.form)
	patch := client.RawPatch(types.MergePatchType, []byte("{}"))
	return object, o.client.Patch(ctx, object, patch, client.FieldOwner(kit.OurManager), client.DryRunAll)
}

// differenceOf compares values and owners.
func differenceOf(before, after *unstructured.Unstructured) (string, error) {
	if before.GetResourceVersion() == after.GetResourceVersion() {
		return "", nil
	}
	diff := ""
	if was, is := valuesOnly(before), valuesOnly(after); !reflect.DeepEqual(was, is) {
		diff = cmp.Diff(was, is)
	}
	was, err := allOwners(before)
	if err != nil {
		return "", err
	}
	is, err := allOwners(after)
	if err != nil {
		return "", err
	}
	if !maps.Equal(was, is) {
		diff += cmp.Diff(was, is)
	}
	return diff, nil
}

// valuesOnly is the object without what the server keeps of every write.
func valuesOnly(object *unstructured.Unstructured) map[string]any {
	values := maps.Clone(object.Object)
	metadata, _ := values["metadata"].(map[string]any)
	metadata = maps.Clone(metadata)
	for _, name := range []string{"managedFields", "resourceVersion", "generation"} {
		delete(metadata, name)
	}
	values["metadata"] = metadata
	return values
}

// allOwners is who owns what, as text, without times. Of two entries of one identity,
// as writes through scale leave them, the server takes the last one, and any write of
// anybody drops the other.
func allOwners(object *unstructured.Unstructured) (map[string]string, error) {
	identity := func(e metav1.ManagedFieldsEntry) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: e.Manager, Operation: e.Operation, Subresource: e.Subresource, APIVersion: e.APIVersion}
	}
	last := map[metav1.ManagedFieldsEntry]metav1.ManagedFieldsEntry{}
	for _, entry := range object.GetManagedFields() {
		last[identity(entry)] = entry
	}
	ownership, err := fieldowners.Parse(slices.Collect(maps.Values(last)))
	if err != nil {
		return nil, err
	}
	owners := map[string]string{}
	for _, entry := range ownership.Entries() {
		var paths []string
		for _, path := range entry.Fields() {
			paths = append(paths, path.String())
		}
		owners[entry.String()+" "+entry.APIVersion] = strings.Join(paths, "\n")
	}
	return owners, nil
}

func sameJSON(a, b any) bool { return reflect.DeepEqual(a, b) }

func asJSON(value any) string {
	raw, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(raw)
}
