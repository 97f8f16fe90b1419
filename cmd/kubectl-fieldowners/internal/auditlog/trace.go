package auditlog

import (
	"cmp"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/cmd/kubectl-fieldowners/internal/fights"
	"coapply.dev/cmd/kubectl-fieldowners/internal/view"
	"coapply.dev/fieldowners"
)

// Log is an audit log: a line of JSON for each event of audit.k8s.io/v1, plain or compressed by gzip.
type Log struct {
	Name string
	io.Reader
}

// Trace returns the report of some logs. The events of each log must be in the order of the log. perMinute is the number of
// changes of a field's owner in a minute that make a fight. The error names the logs that could not be read to the end; the
// report then covers the events before the failure.
func Trace(logs []Log, asked Selection, perMinute int) (Report, error) {
	t, err := newTracer(asked, perMinute)
	if err != nil {
		return Report{}, err
	}
	var readers []*reader
	for _, log := range logs {
		readers = append(readers, newReader(log.Name, log))
	}
	merge(readers, t.event)
	report := t.finish()
	var errs []error
	for _, r := range readers {
		report.Events += r.events
		report.Unreadable += r.unreadable
		if !errors.Is(r.err, io.EOF) {
			errs = append(errs, r.err)
		}
	}
	return report, errors.Join(errs...)
}

// merge calls use for the events of all logs, sorted by time. Each log must be sorted itself, as the API server writes it.
func merge(logs []*reader, use func(*event)) {
	for {
		var first *reader
		for _, r := range logs {
			if r.next != nil && (first == nil || r.next.StageTimestamp.Before(first.next.StageTimestamp)) {
				first = r
			}
		}
		if first == nil {
			return
		}
		use(first.next)
		first.advance()
	}
}

// key identifies an object.
type key struct{ group, resource, namespace, name string }

// object is the last known state of an object.
type object struct {
	ref       view.Ref
	uid       string
	revision  uint64 // the resourceVersion; 0 if the state is not known
	line      []byte // the line of the log with the last write
	managed   []metav1.ManagedFieldsEntry
	ownership fieldowners.Ownership
	scaled    any // the replicas that the last write through the subresource scale has set; see scaledBy
	// scaledBy is the owner of .spec.replicas if the last write went through the subresource scale. The response to such a
	// write has no managed fields, so the owner is inferred and not in ownership.
	scaledBy *fieldowners.Manager
}

// tracer computes a Report from events in the order of time.
type tracer struct {
	report  Report
	asked   Selection
	objects map[key]*object
	writers map[writerKey]*Writer
	taken   map[takenKey]*Taken
	refused map[refusedKey]*Refused
	fights  *fights.Detector
	held    []write // writes whose order is not certain yet, sorted by resourceVersion
}

// write is a successful write whose response the log contains.
type write struct {
	*event

	key      key
	writer   *Writer
	manager  string
	revision uint64
}

func (w write) isScale() bool { return w.ObjectRef.Subresource == "scale" }

func newTracer(asked Selection, fightsPerMinute int) (*tracer, error) {
	detector, err := fights.New(fightsPerMinute)
	return &tracer{
		asked: asked, objects: map[key]*object{}, writers: map[writerKey]*Writer{}, taken: map[takenKey]*Taken{},
		refused: map[refusedKey]*Refused{}, fights: detector,
	}, err
}

// notStored are resources whose objects are not stored, so that a create changes nothing.
var notStored = []string{
	"tokenreviews", "subjectaccessreviews", "localsubjectaccessreviews", "selfsubjectaccessreviews", "selfsubjectrulesreviews", "selfsubjectreviews",
}

// event evaluates one event.
func (t *tracer) event(e *event) {
	ref := e.ObjectRef
	query := queryOf(e.RequestURI)
	if slices.Contains(notStored, ref.Resource) || query.Get("dryRun") != "" {
		return
	}
	k := key{ref.APIGroup, ref.Resource, ref.Namespace, ref.Name}
	if k.name == "" && e.ResponseObject != nil { // the API server has generated the name
		k.name = e.ResponseObject.Metadata.Name
	}
	if !t.asked.object(k) {
		return
	}
	t.report.saw(e)
	manager := managerOf(query, e.UserAgent)
	w := t.writer(e, manager)
	switch code := e.ResponseStatus.Code; {
	case code >= http.StatusOK && code < http.StatusMultipleChoices:
		w.Writes++
		t.stored(e, k, w, manager)
	case code == http.StatusConflict && e.ResponseStatus.Reason != metav1.StatusReasonAlreadyExists:
		t.conflict(e, k, w, manager)
	default:
		w.Failed++
	}
}

// stored evaluates a successful request.
func (t *tracer) stored(e *event, k key, w *Writer, manager string) {
	if e.Verb == "delete" || e.Verb == "deletecollection" {
		if e.ObjectRef.Subresource == "" {
			t.history(e, manager, nil, "deleted", "", "")
		}
		return
	}
	if e.ResponseObject == nil {
		return
	}
	next := write{event: e, key: k, writer: w, manager: manager}
	next.revision, _ = strconv.ParseUint(e.ResponseObject.Metadata.ResourceVersion, 10, 64)
	if next.revision == 0 {
		return
	}
	// The log has requests in the order in which they ended, which may differ from the order of the writes.
	at, _ := slices.BinarySearchFunc(t.held, next.revision, func(w write, revision uint64) int { return cmp.Compare(w.revision, revision) })
	// A write without changes has the resourceVersion of the write before it, and their responses may end in any order. A
	// response with managed fields shows the new owners in both cases, so it comes before a response of /scale.
	for at < len(t.held) && t.held[at].revision == next.revision && (next.isScale() || !t.held[at].isScale()) {
		at++
	}
	t.held = slices.Insert(t.held, at, next)
	for len(t.held) > 0 && (len(t.held) > mostHeld || e.StageTimestamp.Sub(t.held[0].StageTimestamp) > heldFor) {
		first := t.held[0]
		t.held = slices.Delete(t.held, 0, 1)
		t.apply(first)
	}
}

// Limits of the writes that are held back until their order is certain.
const (
	mostHeld = 256
	heldFor  = 10 * time.Second
)

// apply evaluates a successful write whose response is known.
func (t *tracer) apply(w write) {
	o, head := t.objects[w.key], w.ResponseObject
	// The response is not the object (for example, of pods/binding), or of /scale of an object that was not seen before.
	if head.Metadata.UID == "" || w.isScale() && o == nil {
		return
	}
	if o == nil || o.uid != head.Metadata.UID {
		o = &object{uid: head.Metadata.UID}
		o.ref = view.Ref{APIVersion: head.APIVersion, Kind: head.Kind, Namespace: w.key.namespace, Name: w.key.name, UID: o.uid}
		t.objects[w.key] = o
	}
	switch {
	case w.revision == o.revision:
		w.writer.Unchanged++
		return
	case w.revision < o.revision:
		t.report.Disordered++
		return
	}
	if w.isScale() {
		t.scaled(w, o)
		return
	}
	after := o.ownership
	moved := !slices.EqualFunc(o.managed, head.Metadata.ManagedFields, sameFields)
	if moved || o.revision == 0 {
		var unread []*fieldowners.EntryError
		after, unread = fieldowners.ParseReadable(head.Metadata.ManagedFields)
		t.report.UnreadEntries += len(unread)
		o.managed = head.Metadata.ManagedFields
	}
	switch {
	case o.revision > 0:
		if moved || o.scaledBy != nil || t.asked.namesOne() {
			t.compare(w, o, after)
		}
		t.turn(w, o)
	case w.ResponseStatus.Code == http.StatusCreated:
		t.history(w.event, w.manager, nil, "created", "", "")
	default:
		t.history(w.event, w.manager, nil, "first seen", "", "")
	}
	o.revision, o.line, o.ownership, o.scaledBy, o.scaled = w.revision, w.line, after, nil, nil
}

// sameFields reports whether two entries have the same manager and fields. Their times may differ.
func sameFields(a, b metav1.ManagedFieldsEntry) bool {
	return a.Manager == b.Manager && a.Operation == b.Operation && a.Subresource == b.Subresource && a.APIVersion == b.APIVersion &&
		a.FieldsV1 != nil && b.FieldsV1 != nil && a.FieldsV1.GetRawString() == b.FieldsV1.GetRawString()
}

// compare evaluates the difference of two states of an object.
func (t *tracer) compare(w write, o *object, after fieldowners.Ownership) {
	moved := o.moved(fieldowners.Diff(o.ownership, after), after)
	var before, now any
	if len(moved) > 0 || t.asked.namesOne() {
		before, now = o.content(), response(w.line)
	}
	changed := map[string]bool{}
	for _, m := range moved {
		changed[m.Path.String()] = true
		t.take(w, o, m, valueAt(m.Path, before), valueAt(m.Path, now), o.infers(m))
	}
	if t.asked.namesOne() {
		for _, c := range fieldowners.Changes(before, now, o.ownership, after) {
			if !changed[c.Path.String()] && !isBookkeeping(c.Path) {
				t.history(w.event, w.manager, &c.Path, "changed", shown(c.Path, o.ref, c.Before, c.Existed), shown(c.Path, o.ref, c.After, c.Exists))
			}
		}
	}
	for _, f := range t.fights.Observe(o.uid, o.ownership, after, w.StageTimestamp) {
		t.report.Fights = append(t.report.Fights, Fight{Time: w.StageTimestamp, Object: o.ref, Path: f.Path.String(), Message: f.Message()})
	}
}

// turn records the write for the detection of loops, in which managers write in turn.
func (t *tracer) turn(w write, o *object) {
	for _, entry := range o.managed {
		if entry.Manager != w.manager || entry.Subresource != w.ObjectRef.Subresource {
			continue
		}
		m := fieldowners.Manager{Name: entry.Manager, Operation: entry.Operation, Subresource: entry.Subresource}
		if l, is := t.fights.Wrote(o.uid, m, w.StageTimestamp); is {
			t.report.Fights = append(t.report.Fights, Fight{Time: w.StageTimestamp, Object: o.ref, Message: l.Message()})
		}
		return
	}
}

// isBookkeeping reports whether the API server maintains the field, so that its changes are not shown.
func isBookkeeping(path fieldowners.Path) bool {
	text := path.String()
	return strings.HasPrefix(text, ".metadata.managedFields") || text == ".metadata.resourceVersion" || text == ".metadata.generation"
}
