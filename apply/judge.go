package apply

import (
	"encoding/json"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"coapply.dev/apply/internal/recent"
	"coapply.dev/apply/internal/wire"
)

// judge reads from the answer of a successful apply what it did.
//
// Created is the answer's status. Unchanged is a resourceVersion that was there
// before: that of this applier's last answer, or of the object read for MustExist.
// (The applies of one applier to an object come and go one by one, in their lane, so
// that the last answer is that.) Where another manager wrote in between, an apply
// that changes nothing cannot be told from one that does and is reported as
// Configured. (The time of our managed fields entry does not tell either: the server
// stamps it for a changed value, not for a changed owner.)
func (c *call) judge(config runtime.ApplyConfiguration) Action {
	answer := c.exchange.LastAnswer()
	object := identityOf(answer, config)
	c.ref.UID, c.ref.ResourceVersion = object.UID, object.ResourceVersion
	seenBefore := !c.dryRun && c.seenBefore(c.ref)
	switch {
	case answer.Status == http.StatusCreated:
		return Created
	case seenBefore, c.readVersion != "" && c.readVersion == object.ResourceVersion:
		return Unchanged
	}
	return Configured
}

// identityOf reads the answer: as the client decoded it where that takes nothing, else
// as recorded, or as the client has it where nothing is recorded or it is not JSON.
// The apply has landed: what cannot be read is left out and fails nothing.
func identityOf(answer wire.Answer, config runtime.ApplyConfiguration) wire.Identity {
	if holder, ok := config.(wire.Unstructured); ok {
		decoded := unstructured.Unstructured{Object: holder.UnstructuredContent()}
		return wire.Identity{UID: decoded.GetUID(), ResourceVersion: decoded.GetResourceVersion()}
	}
	if answer.Status != 0 {
		if found, err := wire.ReadIdentity(answer.Body); err == nil {
			return found
		}
	}
	body, err := json.Marshal(config)
	if err != nil {
		return wire.Identity{}
	}
	found, err := wire.ReadIdentity(body)
	if err != nil {
		return wire.Identity{}
	}
	return found
}

// seenVersions remembers the resourceVersion of the last answer for each of the
// objects applied most recently.
type seenVersions = recent.Cache[seenKey, wire.Identity]

const seenObjects = 4096

type seenKey struct {
	kind metav1.GroupVersionKind
	name types.NamespacedName
}

// seenBefore remembers the object's version and tells whether it was the last one
// seen.
func (a *Applier) seenBefore(ref ObjectRef) bool {
	key := seenKey{metav1.GroupVersionKind(ref.GroupVersionKind), ref.NamespacedName}
	now := wire.Identity{UID: ref.UID, ResourceVersion: ref.ResourceVersion}
	before, ok := a.seen.Get(key)
	a.seen.Put(key, now)
	return ok && before == now && now.ResourceVersion != ""
}
