package compare

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Intent is what one writer wants of one object, said in each of the ways that arms need. All of them come to the same
// fields with the same values.
type Intent struct {
	// Writer and Sequence name the intent within its trial; both count from 0.
	Writer, Sequence int
	// Kind, Namespace, Name are those of the object.
	Kind            schema.GroupVersionKind
	Namespace, Name string
	// Subresource that is written through: "" or "status".
	Subresource string
	// Manager is the field manager to write as.
	Manager string

	// Wants are the tracked fields that the intent sets, with their values; "" wants the field to be absent. The
	// names are those of Run.Fields. A value is unique within its trial unless the workload says otherwise.
	Wants map[string]string
	// Increments is the tracked field that the intent makes one greater; "" for none. Its value is not in Wants.
	Increments string

	// Configure returns everything that the manager wants to own, as an apply configuration without apiVersion, kind
	// and metadata.name. live is nil unless ReadsLive.
	Configure func(live *unstructured.Unstructured) map[string]any
	// ReadsLive says that what is wanted depends on the live object, as an increment does: the arm reads it first and
	// hands it to Configure.
	ReadsLive bool
	// Modify sets the intent's fields, and no others, on an object as it was read: what a closure of get-modify-update
	// does. It can be repeated on a fresh object.
	Modify func(*unstructured.Unstructured) error
	// Replace sets the whole of what the writer knows (the spec, the status, the data) and so drops what others wrote;
	// for the arm gmu-replace. nil where the workload has no such way.
	Replace func(*unstructured.Unstructured) error

	// Creates says that the object may not exist yet.
	Creates bool
	// Pause is called once between the arm's first read and its first write, or before the first write if the arm
	// does not read; nil for none. It holds all writers of a round until each has read.
	Pause func(context.Context) error

	// Parts are the intents that together are this one, such as one for each pod of a set. The fields above but
	// Writer and Sequence are then empty, but for what an arm that takes intents as a whole needs: Kind, Namespace,
	// Name and Replicas.
	Parts []Intent
	// Replicas is how many parts there should be.
	Replicas int
}
