package compare

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Intent is the change that one writer wants to make to one object. The change is described in several forms, because
// each kind of arm needs another form. All forms set the same fields to the same values.
type Intent struct {
	// Writer and Sequence identify the intent within its trial. Both count from 0.
	Writer, Sequence int
	// Kind, Namespace and Name identify the object.
	Kind            schema.GroupVersionKind
	Namespace, Name string
	// Subresource is the subresource to write to: "" or "status".
	Subresource string
	// Manager is the field manager to write as.
	Manager string

	// Wants contains the tracked fields that the intent sets, with their values. Run.Fields uses the same field
	// names. The value "" means that the field must be absent. Values are unique within the trial, unless the
	// workload documents an exception.
	Wants map[string]string
	// Increments is the tracked field that the intent increases by one; "" if there is none. This field is not in Wants.
	Increments string

	// Configure returns all fields that the manager wants to own, as an apply configuration without apiVersion,
	// kind and name. live is nil unless ReadsLive is set.
	Configure func(live *unstructured.Unstructured) map[string]any
	// ReadsLive means that the wanted values depend on the live object, as for an increment. The arm must read
	// the object and pass it to Configure.
	ReadsLive bool
	// Modify sets the fields of the intent on an object that was read, and leaves other fields unchanged. Arms with
	// get-modify-update use Modify. They may call it again with a newly read object.
	Modify func(*unstructured.Unstructured) error
	// Replace replaces a whole part of the object, such as status or all finalizers, and drops what other writers set
	// there. Only the arm gmu-replace uses Replace. It is nil if the workload does not support this arm.
	Replace func(*unstructured.Unstructured) error

	// Creates means that the object might not exist yet. The arm must then create the object.
	Creates bool
	// Pause waits until all writers of the round have read, so that all writers write at the same time. An arm calls Pause
	// between its first read and its first write, or before the first write if the arm does not read. Pause may be nil.
	Pause func(context.Context) error

	// Parts are the intents that make up this intent, such as one intent for each pod of a set. An arm with Arm.Whole
	// gets this intent, and any other arm gets the parts. An intent with Parts sets only these other fields: Writer,
	// Sequence, Kind, Namespace, Name, Manager, Pause and Replicas.
	Parts []Intent
	// Replicas is the number of parts that should exist.
	Replicas int
}
