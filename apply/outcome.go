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
	// Configured means that a value or an owner changed, or that another manager
	// wrote since this applier's last answer, so that nobody can tell.
	Configured Action = "Configured"
	// Unchanged means that nothing changed: the server kept the resourceVersion.
	Unchanged Action = "Unchanged"
	// Absent means that an intent with MustExist found no object. Nothing was
	// written; wait for the object to appear.
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

// String gives Kind namespace/name; no uid and no resourceVersion, so that equal
// problems read equal. What is not known is left out.
func (r ObjectRef) String() string { return r.Key().String() }

// Key names the object for its lane: whatever its version or uid is.
func (r ObjectRef) Key() lanes.Key {
	return lanes.Key{GroupKind: r.GroupKind(), NamespacedName: r.NamespacedName}
}

// as is the object as it was read.
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
	// Differ are the fields of an intent that landed which the server's answer does not have
	// as wanted, as where admission rewrites them. It takes RecordExchange, or unstructured
	// intents. Such an intent is sent each time.
	Differ []Difference
	// Shared are the fields of the intent that others own as well, at the value that is
	// wanted, where the policy rejects a conflict with them: the next other value that is
	// wanted is one. It takes RecordExchange, or unstructured intents, to know them after a
	// request. The rules alone say so: of a conflict that is not there yet Policy.ForceIf is
	// not asked, and with Policy.Func nothing is known.
	Shared []fieldowners.Shared
	// TakenBack are the manager's own fields that were taken back from the owner whom the
	// server made up when managed fields were wiped; see Config.Contract.
	TakenBack []fieldowners.Path

	// Unread are entries of the managed fields that could not be read when conflicts were
	// judged, or were as before: somebody who forges them leaves them so. What they own
	// counts as nobody's, but for what the API server's answer says.
	Unread []*fieldowners.EntryError
}
