// Package wire has what several packages need to talk to the API server: encoded
// configurations, recorded requests, classes of answers, tries, and rewritten managed fields.
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

// Rewrite is a transfer of fields of an object as it was read, with the managed fields that
// result. These are stored in one write, pinned to the uid and the resourceVersion read.
type Rewrite struct {
	Live    *unstructured.Unstructured // as it was read
	Objects fieldowners.Objects        // the object in each apiVersion that the plan needs
	Plan    fieldowners.TransferPlan
	Sent    int // writes and dry runs
}

// ErrChanged means that an object changed between the reads in two apiVersions. Read again.
var ErrChanged = errors.New("it changed between reads in two apiVersions")

// PlanRewrite plans a transfer, and reads the object in the further apiVersions that the
// plan needs, all at one resourceVersion.
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

// Before returns the managed fields that were read.
func (r *Rewrite) Before() []metav1.ManagedFieldsEntry { return r.Live.GetManagedFields() }

func (r *Rewrite) readVersions(ctx context.Context, reader client.Reader) error {
	for _, version := range r.Plan.Unread {
		object := Named(schema.FromAPIVersionAndKind(version, r.Live.GetKind()), r.name())
		err := reader.Get(ctx, r.name(), object)
		switch {
		case meta.IsNoMatchError(err) || apierrors.IsNotFound(err):
			r.Objects[version] = nil
		case err != nil:
			return fmt.Errorf("reading it in %s: %w", version, err)
		case object.GetUID() != r.Live.GetUID() || object.GetResourceVersion() != r.Live.GetResourceVersion():
			return ErrChanged
		default:
			r.Objects[version] = object.Object
		}
	}
	return nil
}

func (r *Rewrite) name() types.NamespacedName { return client.ObjectKeyFromObject(r.Live) }

// Rehearse makes a dry run if entries are in several apiVersions. If the API server can no
// longer convert one of these, such as a version removed from a CustomResourceDefinition, every
// write wipes all managed fields (1.36) or keeps the former ones (1.37), whoever's entry it is.
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
			"nothing was written, as the API server would not store the managed fields as sent, perhaps because it has no %s any more: %w", after[other].APIVersion, err)
	}
	return nil
}

// AlteredError means that a write landed, and that the server stored something else.
type AlteredError struct{ Err error }

func (e *AlteredError) Error() string {
	return fmt.Sprintf("the write landed, and the managed fields are not those sent: %v", e.Err)
}

// Unwrap returns what is different.
func (e *AlteredError) Unwrap() error { return e.Err }

// Store stores the managed fields in one write. Errors are those of the server, and an
// AlteredError.
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

// verify returns an error if the server's answer is not what was sent. Beside a missing
// conversion, a mutating webhook may have rewritten it, or the object become too large, so that
// the server left managed fields out.
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

// send stores the managed fields and returns those of the answer. The patch replaces uid and
// resourceVersion instead of testing them, as a failed test is a 422 like others: another
// resourceVersion is a stale write, another uid an immutable field.
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

// Body is a configuration as JSON. The same content has the same bytes.
type Body struct {
	Type reflect.Type // of the caller's configuration; nil for an unstructured one
	JSON []byte
}

// Encode encodes a configuration. Unstructured content is encoded as well, as it may hold
// values on which a deep copy panics, such as an int.
func Encode(configuration runtime.ApplyConfiguration) (Body, error) {
	config := reflect.ValueOf(configuration)
	if config.Kind() != reflect.Pointer || config.IsNil() {
		return Body{}, fmt.Errorf("the configuration is %T, want a non-nil pointer", configuration)
	}
	of, content := config.Type().Elem(), any(configuration)
	if holder, ok := configuration.(Unstructured); ok {
		if HoldsNothing(config.Elem()) {
			return Body{}, errors.New("the configuration holds a nil *unstructured.Unstructured")
		}
		of, content = nil, holder.UnstructuredContent()
	}
	raw, err := json.Marshal(content)
	return Body{of, raw}, err
}

// Unstructured is implemented by the private type of client.ApplyConfigurationFromUnstructured,
// and not by typed configurations.
type Unstructured interface {
	UnstructuredContent() map[string]any
}

// HoldsNothing reports whether the private type of client.ApplyConfigurationFromUnstructured
// holds no object.
func HoldsNothing(holder reflect.Value) bool {
	if holder.Kind() != reflect.Struct {
		return false
	}
	held := holder.FieldByName("Unstructured")
	return held.Kind() == reflect.Pointer && held.IsNil()
}
