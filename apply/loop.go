package apply

import (
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/apply/internal/loops"
	"coapply.dev/fieldowners"
)

// Loops detects endless loops: an object that one field manager changes again and again, because another writer undoes
// each change. For this, Loops counts the applies that changed an object, by object and field manager. An endless loop is
// more than 30 changes within a minute. The same loop is reported at most once an hour. All Appliers of a process share
// one Loops, because several Appliers may use the same field manager. Loops is safe for concurrent use.
type Loops struct{ counter *loops.Counter }

// NewLoops returns a Loops that takes the current time from the function now. If now is nil, it uses time.Now.
func NewLoops(now func() time.Time) *Loops { return &Loops{loops.New(now)} }

// countChange counts the apply of this call if it changed the object. If Loops reports an endless loop, countChange
// logs and returns a message about the loop. Otherwise it returns "".
func (c *call) countChange(landed *answer, action Action) string {
	if c.config.Loops == nil || c.dryRun || action != Created && action != Configured {
		return ""
	}
	var stamp metav1.Time
	var others []fieldowners.Manager
	for _, conflict := range c.outcome.Conflicts { // also name managers whose entries a forced apply has removed
		others = append(others, conflict.Manager)
	}
	for _, entry := range landed.head().ManagedFields {
		switch {
		case entry.Manager != c.config.FieldManager:
			others = append(others, fieldowners.Manager{Name: entry.Manager, Operation: entry.Operation, Subresource: entry.Subresource})
		case entry.Operation == metav1.ManagedFieldsOperationApply && entry.Subresource == c.intent.Subresource && entry.Time != nil:
			stamp = *entry.Time
		}
	}
	if stamp.IsZero() || !c.config.Loops.counter.Changed(loops.Key{Key: c.ref.Key(), FieldManager: c.config.FieldManager}, stamp.Time) {
		return ""
	}
	loop := loopText(c.config.FieldManager, c.ref, others)
	c.log.Error(errors.New(loop), "found an endless loop of applies")
	return loop
}

// loopText returns the message about an endless loop. others are the other field managers of the object.
func loopText(manager string, object ObjectRef, others []fieldowners.Manager) string {
	named := "No other field manager owns a field of the object"
	if len(others) > 0 {
		named = "The other field managers of the object are " + fieldowners.FormatManagers(others)
	}
	return fmt.Sprintf("the field manager %q changed %v more than %d times within a minute. Another writer undoes each change, or two "+
		"writers apply different values under this name. %s. kubectl fieldowners watch shows who changes which field", manager, object, loops.Limit, named)
}
