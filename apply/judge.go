package apply

import (
	"encoding/json"
	"fmt"
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
func (c *call) judge(config runtime.ApplyConfiguration, took time.Duration) (Action, error) {
	answer := c.exchange.lastAnswer()
	body := answer.body
	if answer.status == 0 { // nothing is recorded: what the client decoded has no managed fields
		var err error
		if body, err = json.Marshal(config); err != nil {
			return "", fmt.Errorf("reading the answer: %w", err)
		}
	}
	var object metav1.PartialObjectMetadata
	if err := json.Unmarshal(body, &object); err != nil {
		return "", fmt.Errorf("reading the answer: %w", err)
	}
	c.ref.UID, c.ref.ResourceVersion = object.UID, object.ResourceVersion
	seenBefore := c.seen.replace(c.ref)
	switch {
	case answer.status == http.StatusCreated:
		return Created, nil
	case seenBefore:
		return Unchanged, nil
	case c.stampedBefore(object.ManagedFields, answer.date, took):
		return Unchanged, nil
	}
	return Configured, nil
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
	return ok && before == now
}
