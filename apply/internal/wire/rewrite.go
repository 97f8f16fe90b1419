// Package wire provides helpers for packages that send requests to the API server. They encode apply configurations,
// record requests, classify errors, repeat attempts, and write managed fields.
package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/fieldowners"
)

// Rewrite is a planned transfer of fields of one object from one field manager to another. The resulting managed fields
// are stored in one write, which is pinned to the uid and the resourceVersion of Live.
type Rewrite struct {
	Live    *unstructured.Unstructured // the object that was read
	Objects fieldowners.Objects        // the same object in each apiVersion that occurs in the managed fields
	Plan    fieldowners.TransferPlan
	Sent    int // the number of writes and dry runs sent so far
}

// ErrChanged means that the object changed while it was read in several apiVersions. The caller should read the object
// again.
var ErrChanged = errors.New("the object changed between the reads in two apiVersions")

// PlanRewrite plans a transfer of fields of the given live object. If the plan needs the object in other apiVersions,
// PlanRewrite reads the object in each of them. It returns ErrChanged if the object changed between these reads.
func PlanRewrite(ctx context.Context, reader client.Reader, live *unstructured.Unstructured, transfer fieldowners.Transfer) (*Rewrite, error) {
	r := &Rewrite{Live: live, Objects: fieldowners.Objects{live.GetAPIVersion(): live.Object}}
	var err error
	if r.Plan, err = transfer.Plan(r.Before(), r.Objects); err != nil || len(r.Plan.Unread) == 0 {
		return r, err
	}
	if err := r.readVersions(ctx, reader); err != nil {
		return nil, err
	}
	r.Plan, err = transfer.Plan(r.Before(), r.Objects)
	return r, err
}

// Before returns the managed fields of the object before the transfer.
func (r *Rewrite) Before() []metav1.ManagedFieldsEntry { return r.Live.GetManagedFields() }

func (r *Rewrite) readVersions(ctx context.Context, reader client.Reader) error {
	for _, version := range r.Plan.Unread {
		object := Named(schema.FromAPIVersionAndKind(version, r.Live.GetKind()), r.name())
		err := reader.Get(ctx, r.name(), object)
		switch {
		case meta.IsNoMatchError(err) || apierrors.IsNotFound(err):
			r.Objects[version] = nil
		case err != nil:
			return fmt.Errorf("reading the object in %s: %w", version, err)
		case object.GetUID() != r.Live.GetUID() || object.GetResourceVersion() != r.Live.GetResourceVersion():
			return ErrChanged
		default:
			r.Objects[version] = object.Object
		}
	}
	return nil
}

func (r *Rewrite) name() types.NamespacedName { return client.ObjectKeyFromObject(r.Live) }

// Rehearse returns an error if the API server would not store the given managed fields unchanged. It checks this by a
// dry run, but only if an entry and the object differ in their apiVersion: a CustomResourceDefinition may no longer
// have the version of the entry. If the API server cannot convert an entry, a write does not store the sent managed
// fields. Kubernetes 1.36 then erases the managed fields of all managers, and Kubernetes 1.37 keeps the old managed
// fields.
func (r *Rewrite) Rehearse(ctx context.Context, c client.Client, fieldManager string, after []metav1.ManagedFieldsEntry) error {
	other := slices.IndexFunc(after, func(e metav1.ManagedFieldsEntry) bool { return e.APIVersion != r.Live.GetAPIVersion() })
	if other < 0 {
		return nil
	}
	stored, err := r.send(ctx, c, after, client.FieldOwner(fieldManager), client.DryRunAll)
	if err != nil {
		return err
	}
	if err := r.verify(after, stored); err != nil {
		return fmt.Errorf(
			"nothing was written: in a dry run, the API server did not store the managed fields as sent, perhaps because it has no %s any more: %w", after[other].APIVersion, err)
	}
	return nil
}

// AlteredError means that a write of managed fields succeeded, but the API server changed the managed fields.
type AlteredError struct{ Err error }

func (e *AlteredError) Error() string {
	return fmt.Sprintf("the API server accepted the write, but stored other managed fields than were sent: %v", e.Err)
}

// Unwrap returns an error that names the managed fields that the API server changed.
func (e *AlteredError) Unwrap() error { return e.Err }

// Store stores the given managed fields in one write. It returns an AlteredError, or the error of the API server.
func (r *Rewrite) Store(ctx context.Context, c client.Client, fieldManager string, after []metav1.ManagedFieldsEntry) error {
	stored, err := r.send(ctx, c, after, client.FieldOwner(fieldManager))
	if err != nil {
		return err
	}
	if err := r.verify(after, stored); err != nil {
		return &AlteredError{err}
	}
	return nil
}

// verify returns an error if the stored managed fields differ from the sent managed fields. Possible reasons are a
// missing conversion between versions, a mutating webhook, or an object so large that the API server drops managed
// fields.
func (r *Rewrite) verify(sent, stored []metav1.ManagedFieldsEntry) error {
	if err := r.Plan.Done(stored); err != nil {
		return err
	}
	return fieldowners.Stored(sent, stored)
}

type patchOperation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// send stores the given managed fields, and returns the managed fields in the response. The JSON patch replaces the uid
// and the resourceVersion with the values that were read. The API server rejects a wrong resourceVersion as a stale
// write, and a wrong uid as a change of an immutable field. JSON patch tests of these two fields would not work: a
// failed test is a 422 that looks like other errors.
func (r *Rewrite) send(ctx context.Context, c client.Client, after []metav1.ManagedFieldsEntry, options ...client.PatchOption) ([]metav1.ManagedFieldsEntry, error) {
	patch, err := json.Marshal([]patchOperation{
		{"replace", "/metadata/uid", r.Live.GetUID()},
		{"replace", "/metadata/resourceVersion", r.Live.GetResourceVersion()},
		{"replace", "/metadata/managedFields", after},
	})
	if err != nil {
		return nil, err
	}
	answer := Named(r.Live.GroupVersionKind(), r.name())
	r.Sent++
	err = c.Patch(ctx, answer, client.RawPatch(types.JSONPatchType, patch), options...)
	return answer.GetManagedFields(), err
}

// Body is an apply configuration as JSON. Equal apply configurations have equal JSON.
type Body struct {
	Type reflect.Type // the Go type of the apply configuration; nil if it is unstructured
	JSON []byte
}

// Encode encodes an apply configuration as JSON. Unstructured content is encoded without a copy, because DeepCopyJSON
// panics on values such as an int.
func Encode(configuration runtime.ApplyConfiguration) (Body, error) {
	config := reflect.ValueOf(configuration)
	if config.Kind() != reflect.Pointer || config.IsNil() {
		return Body{}, fmt.Errorf("the apply configuration is a %T, but must be a pointer that is not nil", configuration)
	}
	of, content := config.Type().Elem(), any(configuration)
	if holder, ok := configuration.(Unstructured); ok {
		if HoldsNothing(config.Elem()) {
			return Body{}, errors.New("the apply configuration contains a nil *unstructured.Unstructured")
		}
		of, content = nil, holder.UnstructuredContent()
	}
	raw, err := json.Marshal(content)
	return Body{of, raw}, err
}

// Unstructured is implemented by the apply configurations that client.ApplyConfigurationFromUnstructured returns, and
// not by typed ones.
type Unstructured interface {
	UnstructuredContent() map[string]any
}

// HoldsNothing reports whether an apply configuration from client.ApplyConfigurationFromUnstructured contains a nil
// *unstructured.Unstructured.
func HoldsNothing(holder reflect.Value) bool {
	if holder.Kind() != reflect.Struct {
		return false
	}
	held := holder.FieldByName("Unstructured")
	return held.Kind() == reflect.Pointer && held.IsNil()
}
