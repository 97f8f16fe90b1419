package apply

import (
	"encoding/json"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"coapply.dev/apply/internal/wire"
	"coapply.dev/fieldowners"
	"coapply.dev/internal/recent"
)

// answer is the result of a request, or of a call that sent nothing.
type answer struct {
	action   Action
	sent     *encodedIntent             // nil: nothing was sent
	decoded  runtime.ApplyConfiguration // by the client
	recorded wire.Answer
	known    *unstructured.Unstructured // what object has returned
	read     *wire.Head                 // what head has returned
}

// nothingSent returns the answer of a call that sent nothing.
func nothingSent(action Action) *answer { return ends[action] }

var ends = map[Action]*answer{
	Unchanged: {action: Unchanged}, Absent: {action: Absent}, Configured: {action: Configured},
}

// object returns the object as the server answered, or nil where no answer was recorded and the
// configuration is typed: that has no managed fields.
func (a *answer) object() *unstructured.Unstructured {
	if a.known != nil {
		return a.known
	}
	object := &unstructured.Unstructured{}
	if holder, ok := a.decoded.(wire.Unstructured); ok { // so that it is not decoded again
		object.Object = holder.UnstructuredContent()
		a.known = object
	} else if object.UnmarshalJSON(a.recorded.Body) == nil {
		a.known = object
	}
	return a.known
}

// judge reads from a successful answer which object was applied to, and what the apply did.
//
// Created follows from the HTTP status. Unchanged follows from a resourceVersion that was known
// before: that of this applier's last answer, or of the object read for MustExist. (The applies
// of one applier to an object are sent one by one, in its lane, so the last answer is the
// latest one.) Where another manager wrote in between, an apply that changes nothing cannot be
// told from one that does and is reported as Configured. (The time of our managed fields entry
// does not tell either: the server stamps it for a changed value, not for a changed owner.)
func (c *call) judge(landed *answer) {
	object := landed.head()
	c.ref.UID, c.ref.ResourceVersion = object.UID, object.ResourceVersion
	seenBefore := !c.dryRun && c.seenBefore(c.ref)
	switch {
	case landed.recorded.Status == http.StatusCreated:
		landed.action = Created
	case seenBefore, c.target.version != "" && c.target.version == object.ResourceVersion:
		landed.action = Unchanged
	default:
		landed.action = Configured
	}
}

// head reads the answer as it was recorded, or as the client has it where nothing is recorded
// or it is no JSON. The apply has landed, so what cannot be read is left out and is no error.
func (a *answer) head() wire.Head {
	if a.sent == nil { // such answers are shared
		return wire.Head{}
	}
	if a.read == nil {
		a.read = a.readHead()
	}
	return *a.read
}

func (a *answer) readHead() *wire.Head {
	if found, err := wire.ReadHead(a.recorded.Body); err == nil {
		return &found
	}
	if holder, ok := a.decoded.(wire.Unstructured); ok {
		decoded := unstructured.Unstructured{Object: holder.UnstructuredContent()}
		found := wire.Identity{UID: decoded.GetUID(), ResourceVersion: decoded.GetResourceVersion()}
		return &wire.Head{Identity: found, ManagedFields: decoded.GetManagedFields()}
	}
	body, _ := json.Marshal(a.decoded)
	found, _ := wire.ReadHead(body)
	return &found
}

// seenVersions remembers the resourceVersion of the last answer for each of the
// objects applied most recently.
type seenVersions = recent.Cache[seenKey, wire.Identity]

const seenObjects = 4096

type seenKey struct {
	kind metav1.GroupVersionKind
	name types.NamespacedName
}

// seenBefore remembers the object's resourceVersion and reports whether it is the one
// remembered before.
func (a *Applier) seenBefore(ref ObjectRef) bool {
	key := seenKey{metav1.GroupVersionKind(ref.GroupVersionKind), ref.NamespacedName}
	now := wire.Identity{UID: ref.UID, ResourceVersion: ref.ResourceVersion}
	before, _ := a.seen.Get(key)
	a.seen.Put(key, now)
	return before == now && now.ResourceVersion != ""
}

// RecordExchange lets appliers read from the HTTP exchange what the client's
// answer does not say: how many requests went out, client-go's own retries
// included, and whether the object was created or left unchanged. Wrap the
// rest.Config with it before any client is made from it:
//
//	cfg.Wrap(apply.RecordExchange)
//
// Without RecordExchange an Outcome counts calls of the client instead of requests and is
// Configured where it might be Created or Unchanged, and the writes of a process to one object
// go one at a time, however far the API server is: RecordExchange also measures the round trip,
// by a GET of /livez now and then while applies wait for each other. Only requests of an
// Applier are recorded.
func RecordExchange(next http.RoundTripper) http.RoundTripper { return wire.RecordExchange(next) }

// readable returns who owns what, without entries of others that cannot be read, as anybody can
// forge them. An entry of our own that cannot be read is an error.
func (a *Applier) readable(entries []metav1.ManagedFieldsEntry) (fieldowners.Ownership, error) {
	ownership, unread := fieldowners.ParseReadable(entries)
	for _, entry := range unread {
		if entry.Manager == a.config.FieldManager {
			return fieldowners.Ownership{}, entry
		}
	}
	return ownership, nil
}
