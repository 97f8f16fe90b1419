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
	answer := c.exchange.lastAnswer()
	object := identityOf(answer, config)
	c.ref.UID, c.ref.ResourceVersion = object.uid, object.resourceVersion
	seenBefore := !c.dryRun && c.seenBefore(c.ref)
	switch {
	case answer.status == http.StatusCreated:
		return Created
	case seenBefore, c.readVersion != "" && c.readVersion == object.resourceVersion:
		return Unchanged
	}
	return Configured
}

// identityOf reads the answer: as the client decoded it where that takes nothing, else
// as recorded, or as the client has it where nothing is recorded or it is not JSON.
// The apply has landed: what cannot be read is left out and fails nothing.
func identityOf(answer answer, config runtime.ApplyConfiguration) identity {
	if holder, ok := config.(wire.Unstructured); ok {
		decoded := unstructured.Unstructured{Object: holder.UnstructuredContent()}
		return identity{decoded.GetUID(), decoded.GetResourceVersion()}
	}
	if answer.status != 0 {
		if found, err := readIdentity(answer.body); err == nil {
			return found
		}
	}
	body, err := json.Marshal(config)
	if err != nil {
		return identity{}
	}
	found, err := readIdentity(body)
	if err != nil {
		return identity{}
	}
	return found
}

// seenVersions remembers the resourceVersion of the last answer for each of the
// objects applied most recently.
type seenVersions = recent.Cache[seenKey, identity]

const seenObjects = 4096

type seenKey struct {
	kind metav1.GroupVersionKind
	name types.NamespacedName
}

// seenBefore remembers the object's version and tells whether it was the last one
// seen.
func (a *Applier) seenBefore(ref ObjectRef) bool {
	key := seenKey{metav1.GroupVersionKind(ref.GroupVersionKind), ref.NamespacedName}
	now := identity{ref.UID, ref.ResourceVersion}
	before, ok := a.seen.Get(key)
	a.seen.Put(key, now)
	return ok && before == now && now.resourceVersion != ""
}
