package apply

import (
	"encoding/json"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"
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
	object := metadataOf(answer, config)
	c.ref.UID, c.ref.ResourceVersion = object.UID, object.ResourceVersion
	seenBefore := c.seen.replace(c.ref)
	switch {
	case answer.status == http.StatusCreated:
		return Created
	case seenBefore, c.readVersion != "" && c.readVersion == object.ResourceVersion:
		return Unchanged
	}
	return Configured
}

// metadataOf reads the answer: as recorded or, when nothing is recorded or it is
// not JSON, as the client decoded it, which leaves out managed fields. The apply
// has landed: what cannot be read is left out and fails nothing.
func metadataOf(answer answer, config runtime.ApplyConfiguration) metav1.ObjectMeta {
	var object metav1.PartialObjectMetadata
	if answer.status != 0 && json.Unmarshal(answer.body, &object) == nil {
		return object.ObjectMeta
	}
	object = metav1.PartialObjectMetadata{}
	if body, err := json.Marshal(config); err != nil || json.Unmarshal(body, &object) != nil {
		return metav1.ObjectMeta{}
	}
	return object.ObjectMeta
}

// seenVersions remembers the resourceVersion of the last answer for each of the
// objects applied most recently.
type seenVersions struct{ byObject *lru.Cache }

const seenObjects = 4096

func newSeenVersions() *seenVersions { return &seenVersions{lru.New(seenObjects)} }

type seenKey struct {
	kind metav1.GroupVersionKind
	name types.NamespacedName
}

type seenVersion struct {
	uid             types.UID
	resourceVersion string
}

// replace remembers the object's version and tells whether it was the last one
// seen.
func (s *seenVersions) replace(ref ObjectRef) bool {
	key := seenKey{metav1.GroupVersionKind(ref.GroupVersionKind), ref.NamespacedName}
	now := seenVersion{ref.UID, ref.ResourceVersion}
	before, ok := s.byObject.Get(key)
	s.byObject.Add(key, now)
	return ok && before == now && now.resourceVersion != ""
}
