package apply

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"coapply.dev/apply/lanes"
	"coapply.dev/fieldowners"
)

// Action says what an apply did to the object.
type Action string

const (
	// Created means that the object did not exist before.
	Created Action = "Created"
	// Configured means that a value or an owner changed, or that this cannot be ruled out
	// because another manager wrote since this Applier's last answer.
	Configured Action = "Configured"
	// Unchanged means that nothing changed: the server kept the resourceVersion.
	Unchanged Action = "Unchanged"
	// Absent means that an intent with MustExist or a Subresource, or a Release, found no
	// object. Nothing was written; wait for the object to appear.
	Absent Action = "Absent"
)

// ObjectRef names an object. UID and ResourceVersion are those of the last answer
// that carried them.
type ObjectRef struct {
	schema.GroupVersionKind
	types.NamespacedName

	UID             types.UID
	ResourceVersion string
}

// String returns Kind namespace/name, without uid and resourceVersion, so that equal problems
// read equal. Parts that are not known are left out.
func (r ObjectRef) String() string { return r.Key().String() }

// Key returns the key of the object's lane, which has no version and no uid.
func (r ObjectRef) Key() lanes.Key {
	return lanes.Key{GroupKind: r.GroupKind(), NamespacedName: r.NamespacedName}
}

// as returns the reference with the uid and resourceVersion of the object read.
func (r ObjectRef) as(read *unstructured.Unstructured) ObjectRef {
	r.UID, r.ResourceVersion = read.GetUID(), read.GetResourceVersion()
	return r
}

// Outcome reports one Apply.
type Outcome struct {
	Action    Action     // "" after an error
	Object    ObjectRef  // what was applied to
	Requests  int        // HTTP requests sent, client-go's own retries included; see RecordExchange
	Attempts  int        // applies sent
	Conflicts []Conflict // settled or rejected, with their decisions
	// Differ lists the fields whose value in the server's answer is not the one wanted, for
	// instance because admission rewrites them. Such an intent is sent each time. Differ needs
	// RecordExchange, or unstructured intents.
	Differ []Difference
	// Shared lists the fields of the intent that others own as well, with the same value, and
	// that would be rejected conflicts if the intent wanted another value. It follows from the
	// policy's rules alone: ForceUnless is not asked, and with Func Shared is empty. After a
	// request it needs RecordExchange, or unstructured intents.
	Shared []fieldowners.Shared

	// Unread lists entries of the managed fields that could not be read when conflicts were
	// judged, such as forged ones. Their fields count as nobody's, except those that the API
	// server names in a conflict.
	Unread []*fieldowners.EntryError
}
