package compare

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Intent is the change that one writer wants to make to one object. It is described in several forms, one for
// each kind of arm. All forms result in the same fields with the same values.
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

	// Wants has the values that the intent gives to tracked fields. The value "" means that the field must be absent. The
	// names of fields are those of Run.Fields. A value is unique within its trial, unless the workload says otherwise.
	Wants map[string]string
	// Increments is the tracked field that the intent increases by one; "" if there is none. This field is not in Wants.
	Increments string

	// Configure returns all fields that the manager wants to own, as an apply configuration without apiVersion,
	// kind and name. live is nil unless ReadsLive is set.
	Configure func(live *unstructured.Unstructured) map[string]any
	// ReadsLive means that the wanted values depend on the live object, as for an increment. The arm must read
	// the object and pass it to Configure.
	ReadsLive bool
	// Modify sets the fields of the intent, and no other fields, on an object that was read, as the closure of
	// a get-modify-update does. It may be called again on a newly read object.
	Modify func(*unstructured.Unstructured) error
	// Replace replaces the whole part that the writer knows (the spec, the status or the data), and so drops the
	// fields of other writers. It is for the arm gmu-replace. It is nil if the workload does not support this.
	Replace func(*unstructured.Unstructured) error

	// Creates means that the object might not exist yet. The arm must then create the object.
	Creates bool
	// Pause may be nil. An arm calls it between its first read and its first write, or before the first write if it does
	// not read. Pause then waits until all writers of the round have read, so that they all write at the same time.
	Pause func(context.Context) error

	// Parts are the intents that make up this intent, such as one for each pod of a set. If Parts is set, only
	// Writer, Sequence, Kind, Namespace, Name, Manager, Pause and Replicas of this intent are set, too. An arm with
	// Arm.Whole gets this intent, and other arms get the parts.
	Parts []Intent
	// Replicas is the number of parts that should exist.
	Replicas int
}
