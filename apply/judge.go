package apply

import (
	"encoding/json"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"
)

// judge reads from the answer of a successful apply what it did.
//
// Created is the answer's status. Unchanged is a resourceVersion that this applier
// has seen before, or an entry of ours whose time lies before the request: the
// server stamps the entry whenever an apply changes anything, a value or an
// owner. Entries have whole seconds, so an apply that changes nothing within a
// second of one that did, with another manager's write between them, is reported
// as Configured.
func (c *call) judge(config runtime.ApplyConfiguration, took time.Duration) Action {
	answer := c.exchange.lastAnswer()
	object := metadataOf(answer, config)
	c.ref.UID, c.ref.ResourceVersion = object.UID, object.ResourceVersion
	seenBefore := c.seen.replace(c.ref)
	switch {
	case answer.status == http.StatusCreated:
		return Created
	case seenBefore:
		return Unchanged
	case c.stampedBefore(object.ManagedFields, answer.date, took):
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

// stampedBefore tells whether our entry is older than the request, by the
// server's clock.
func (c *call) stampedBefore(entries []metav1.ManagedFieldsEntry, date string, took time.Duration) bool {
	answered, err := http.ParseTime(date)
	if err != nil {
		return false
	}
	var stamped time.Time
	for _, entry := range entries {
		if entry.Manager == c.config.FieldManager && entry.Operation == metav1.ManagedFieldsOperationApply &&
			entry.Subresource == "" && entry.Time != nil && entry.Time.After(stamped) {
			stamped = entry.Time.Time
		}
	}
	return !stamped.IsZero() && stamped.Before(answered.Add(-took).Truncate(time.Second))
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
