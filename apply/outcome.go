package apply

import (
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"coapply.dev/apply/internal/content"
	"coapply.dev/apply/internal/gotypes"
	"coapply.dev/apply/internal/hidden"
	"coapply.dev/apply/internal/loops"
	"coapply.dev/apply/lanes"
	"coapply.dev/fieldowners"
)

// Action says what an apply did to the object.
type Action string

const (
	// Created means that the object did not exist before.
	Created Action = "Created"
	// Configured means that the apply changed a value or an owner. If another field manager has written to the object
	// since this Applier's last apply, the Action may be Configured although the apply changed nothing.
	Configured Action = "Configured"
	// Unchanged means that the apply changed nothing. Either no request was sent, because the cached object proved
	// that nothing would change (see SteadyState), or the response has the resourceVersion that was already known.
	Unchanged Action = "Unchanged"
	// Absent means that nothing was written, because the object does not exist. Apply returns Absent for an intent with
	// MustExist or a Subresource. Wait for the object to appear.
	Absent Action = "Absent"
)

// ObjectRef refers to an object by kind and name. In results of this package, UID and ResourceVersion come from the
// last read or response.
type ObjectRef struct {
	schema.GroupVersionKind
	types.NamespacedName

	UID             types.UID
	ResourceVersion string
}

// String returns Kind namespace/name, without parts that are not known. The uid and resourceVersion are left out, so
// that repeated messages about an object are equal.
func (r ObjectRef) String() string { return r.Key().String() }

// Key returns the key of the object's lane: the group and kind without a version, the namespace and the name.
func (r ObjectRef) Key() lanes.Key {
	return lanes.Key{GroupKind: r.GroupKind(), NamespacedName: r.NamespacedName}
}

// as returns r with the uid and resourceVersion of the object that was read.
func (r ObjectRef) as(read metav1.Object) ObjectRef {
	r.UID, r.ResourceVersion = read.GetUID(), read.GetResourceVersion()
	return r
}

func (r ObjectRef) isSecret() bool { return fieldowners.IsSecret(r.Group, r.Kind) }

// Outcome is the result of one Apply, or of one ownership.Release.
type Outcome struct {
	Action    Action     // "" after an error
	Object    ObjectRef  // the object of the intent
	Requests  int        // number of HTTP requests, client-go's own retries included; see RecordExchange
	Attempts  int        // number of writes sent, dry runs included
	Conflicts []Conflict // the conflicts on which the policy decided, with the decisions
	// Differ lists the fields of this apply whose values in the API server's response differ from the intent's values.
	// For example, an admission webhook may have changed a value. Such an intent is sent each time, because the object
	// never has the intent's values.
	Differ []Difference
	// Unread lists the managed fields entries that could not be parsed when conflicts were decided, such as forged
	// entries. A field that is listed only in such entries counts as a field without an owner, unless the API server
	// names the field in a conflict.
	Unread []*fieldowners.EntryError
}

// Difference is a field that has another value in the API server's response than in the intent, after a successful
// apply.
type Difference struct {
	Path         fieldowners.Path
	Wanted, Live any  // the value in the intent and in the response; nil if there is none; hidden for a Secret
	Hidden       bool // reports whether String hides both values
	// By lists the other owners of the field. If By is empty, admission or the API server itself
	// changed the value.
	By []fieldowners.Manager
}

// String returns one line: the field, both values, and the writer that changed the value.
func (d Difference) String() string {
	live := "absent"
	if d.Live != nil {
		live = hidden.ShowUnless(d.Hidden, d.Live)
	}
	who := "admission or the API server"
	if len(d.By) > 0 {
		who = d.By[0].String()
	}
	return fmt.Sprintf("%s is %s, not %s as wanted: changed by %s", d.Path, live, hidden.ShowUnless(d.Hidden, d.Wanted), who)
}

// differences returns the fields of this field manager whose values in the API server's response differ from the sent
// values. Two notations of the same quantity count as equal, and so do a zero value and an absent value. The stringData
// of a Secret is not compared, because no response contains it.
func (c *call) differences(sent *encodedIntent, answer map[string]any, entries []metav1.ManagedFieldsEntry) []Difference {
	if content.SameMeaning(sent.Fields, answer) { // the usual case: no managed fields need to be parsed
		return nil
	}
	var found []Difference
	ownership, _ := fieldowners.ParseReadable(entries)
	all := ownership.Entries()
	for _, entry := range all {
		if !c.isOurs(entry.Manager) {
			continue
		}
		for _, path := range entry.Leaves() {
			wanted, set := path.Value(sent.Fields)
			live, has := path.Value(answer)
			if !set || content.SameMeaning(wanted, live) || !has && content.IsZero(wanted) || c.ref.isSecret() && path.HasPrefix(stringData) {
				continue
			}
			if content.SameBytes(wanted, live) && !c.readsMayHide() && gotypes.IsBytes(c.goType(), path) {
				continue
			}
			difference := Difference{Path: path, Wanted: wanted, Live: live, Hidden: hidden.Is(c.ref.GroupKind(), path, wanted, live)}
			if c.ref.isSecret() {
				difference.Wanted, difference.Live = fieldowners.Hide(wanted), fieldowners.Hide(live)
			}
			for _, other := range all {
				if other.Owns(path) && !c.isOurs(other.Manager) {
					difference.By = append(difference.By, other.Manager)
				}
			}
			found = append(found, difference)
		}
	}
	return found
}

var stringData = fieldowners.MustParsePath(".stringData")

// compare sets Outcome.Differ from the response to a successful apply.
func (c *call) compare(landed *answer) {
	if c.intent.hasBody() {
		return
	}
	c.outcome.Differ = c.differences(landed.sent, landed.response.Part(landed.sent.Fields), landed.head().ManagedFields)
}

// statusLanded returns an error if the API server has dropped the status of the intent. The API server drops a status
// silently if the kind has a status subresource and the apply is not sent to that subresource.
func (c *call) statusLanded(landed *answer) error {
	if c.intent.Subresource != "" || c.intent.Fields[statusSubresource] == nil {
		return nil
	}
	entries := landed.head().ManagedFields
	if len(entries) == 0 {
		return nil // without managed fields, nothing is known about the status
	}
	ownership, _ := fieldowners.ParseReadable(entries)
	isStatus := func(path fieldowners.Path) bool { return path.HasPrefix(fieldowners.StatusPath) }
	for _, entry := range ownership.Entries() {
		if c.isOurs(entry.Manager) && slices.ContainsFunc(entry.Fields(), isStatus) {
			return nil
		}
	}
	return &RefusedError{Object: c.ref,
		Err: errors.New("the API server dropped the status and wrote the other fields: apply the status with another intent, whose Intent.Subresource is \"status\"")}
}

type reportedConflict struct {
	conflictField

	uid types.UID
}

var reportedSeed = maphash.MakeSeed()

// report stores the relinquished and shared conflicts, so that the next call can compare its conflicts with them. It
// returns the given conflicts, and sets Remembered in each conflict that the previous call also reported.
func (c *call) report(conflicts []Conflict) []Conflict {
	who := c.writer()
	before := c.ledger.Reported(c.ref.Key(), who)
	var now []uint64
	for i, conflict := range conflicts {
		if conflict.Decision != Force {
			hash := maphash.Comparable(reportedSeed, reportedConflict{conflict.field(), conflict.Object.UID})
			conflicts[i].Remembered = slices.Contains(before, hash)
			now = append(now, hash)
		}
	}
	if !c.dryRun && len(before)+len(now) > 0 {
		c.ledger.Report(c.ref.Key(), who, now)
	}
	return conflicts
}

// end returns the Outcome of the call, and passes an observation to Config.Metrics.
func (c *call) end(landed *answer, err error) (Outcome, error) {
	outcome := c.outcome
	outcome.Object, outcome.Requests = c.ref, c.exchange.Requests()
	switch {
	case err != nil:
		outcome.Action = ""
	case landed.action != Unchanged || outcome.Action == "": // keep Created or Configured of an earlier request
		outcome.Action = landed.action
	}
	c.observe(outcome, err, c.countChange(landed, outcome.Action))
	return outcome, err
}

func (c *call) observe(outcome Outcome, err error, loop string) {
	if c.config.Metrics == nil {
		return
	}
	result := string(outcome.Action)
	if err != nil {
		result = ResultOf(err)
	}
	decided := map[Decision]int{}
	var forced []Conflict
	for _, conflict := range outcome.Conflicts {
		if conflict.Remembered {
			continue
		}
		decided[conflict.Decision]++
		if err == nil && conflict.Decision == Force && !c.dryRun {
			forced = append(forced, conflict)
		}
	}
	c.config.Metrics.ObserveApply(ApplyObservation{
		FieldManager: c.config.FieldManager,
		Kind:         c.ref.GroupVersionKind,
		Object:       c.ref,
		Result:       result,
		Requests:     outcome.Requests,
		Attempts:     outcome.Attempts,
		Conflicts:    decided,
		Forced:       forced,
		Duration:     time.Since(c.start),
		Waited:       c.waited,
		Loop:         loop,
	})
}

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
