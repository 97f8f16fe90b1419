package auditlog

import (
	"cmp"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"

	"coapply.dev/cmd/kubectl-fieldowners/internal/fights"
	"coapply.dev/cmd/kubectl-fieldowners/internal/view"
	"coapply.dev/fieldowners"
)

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
	// An apply without changes has the resourceVersion of the write before it. It is inserted after that write.
	for at < len(t.held) && t.held[at].revision == next.revision {
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
	o, isScale, head := t.objects[w.key], w.ObjectRef.Subresource == "scale", w.ResponseObject
	// The response is not the object (for example, of pods/binding), or of /scale of an object that was not seen before.
	if head.Metadata.UID == "" || isScale && o == nil {
		return
	}
	if o == nil || o.uid != head.Metadata.UID {
		o = &object{uid: head.Metadata.UID}
		o.ref = view.Ref{APIVersion: head.APIVersion, Kind: head.Kind, Namespace: w.key.namespace, Name: w.key.name}
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
	if isScale {
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
		t.take(w, o, m, valueAt(m.Path, before), valueAt(m.Path, now), m.To.Name != w.manager)
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

// moved returns the fields that changed their owners since the last write. If the last write of .spec.replicas went
// through /scale, o.ownership does not have its owner, so moved starts from the inferred owner scaledBy.
func (o *object) moved(diff fieldowners.Difference, after fieldowners.Ownership) []fieldowners.Moved {
	if o.scaledBy == nil {
		return diff.Moved
	}
	moved := slices.DeleteFunc(diff.Moved, func(m fieldowners.Moved) bool { return m.Path.Equal(replicas) })
	owners := after.OwnersOf(replicas)
	if !slices.ContainsFunc(owners, o.scaledBy.SameWriter) {
		for _, to := range owners {
			moved = append(moved, fieldowners.Moved{Path: replicas, From: *o.scaledBy, To: to})
		}
	}
	return moved
}

var replicas = fieldowners.MustParsePath(".spec.replicas")

// scaled infers the effect of a write through the subresource scale, whose response has no managed fields.
func (t *tracer) scaled(w write, o *object) {
	before, now := valueAt(replicas, o.content()), valueAt(replicas, response(w.line))
	to := fieldowners.Manager{Name: w.manager, Operation: metav1.ManagedFieldsOperationUpdate, Subresource: "scale"}
	owners := o.ownership.OwnersOf(replicas)
	if o.scaledBy != nil {
		owners = []fieldowners.Manager{*o.scaledBy}
	}
	o.revision = w.revision
	if fieldowners.FormatValue(before) == fieldowners.FormatValue(now) {
		return
	}
	for _, from := range owners {
		if !from.SameWriter(to) {
			t.take(w, o, fieldowners.Moved{Path: replicas, From: from, To: to}, before, now, true)
		}
	}
	o.scaledBy, o.scaled = &to, now
}

// content returns the object after the last write; nil if the object did not exist.
func (o *object) content() any {
	content := response(o.line)
	if o.scaledBy != nil {
		replicas.Set(content, o.scaled)
	}
	return content
}

// response returns the object in the response of an event.
func response(line []byte) any {
	var e struct{ ResponseObject any }
	if len(line) > 0 {
		_ = json.Unmarshal(line, &e) // succeeds, because the line was parsed before
	}
	return e.ResponseObject
}

func valueAt(path fieldowners.Path, object any) any {
	value, _ := path.Value(object)
	return value
}

// isBookkeeping reports whether the API server maintains the field, so that its changes are not shown.
func isBookkeeping(path fieldowners.Path) bool {
	text := path.String()
	return strings.HasPrefix(text, ".metadata.managedFields") || text == ".metadata.resourceVersion" || text == ".metadata.generation"
}

// conflict evaluates a response 409.
func (t *tracer) conflict(e *event, k key, w *Writer, manager string) {
	ownership := false
	if details := e.ResponseStatus.Details; details != nil {
		for _, cause := range details.Causes {
			if cause.Type != metav1.CauseTypeFieldManagerConflict {
				continue
			}
			ownership = true
			owner := "unknown"
			if m, err := fieldowners.ParseCause(cause.Message); err == nil {
				owner = m.String()
			}
			rk := refusedKey{k, cause.Field, manager, owner}
			if t.refused[rk] == nil {
				t.refused[rk] = &Refused{Object: refOf(e, k), Path: cause.Field, Manager: manager, Owner: owner, User: userOf(e)}
			}
			t.refused[rk].Times++
			t.refused[rk].Last = e.StageTimestamp
		}
	}
	if ownership {
		w.Conflicts++
		t.history(e, manager, nil, "conflict", "", "")
		return
	}
	w.Stale++
	t.history(e, manager, nil, "stale write", "", "")
}

func refOf(e *event, k key) view.Ref {
	return view.Ref{APIVersion: strings.TrimPrefix(k.group+"/"+e.ObjectRef.APIVersion, "/"), Kind: k.resource, Namespace: k.namespace, Name: k.name}
}

// userOf returns the user of a request. For an impersonated user it also returns who impersonates.
func userOf(e *event) string {
	if e.ImpersonatedUser.Username != "" {
		return e.ImpersonatedUser.Username + " by " + e.User.Username
	}
	return e.User.Username
}

// queryOf returns the parameters in the URI of a request. A parameter that cannot be parsed is left out.
func queryOf(uri string) url.Values {
	_, query, _ := strings.Cut(uri, "?")
	values, _ := url.ParseQuery(query)
	return values
}

// managerOf returns the field manager of a request as the API server determines it: the parameter fieldManager, or
// otherwise the User-Agent up to the first slash.
func managerOf(query url.Values, userAgent string) string {
	if given := query.Get("fieldManager"); given != "" {
		return given
	}
	name, _, _ := strings.Cut(userAgent, "/")
	short := ""
	for _, r := range name {
		if !unicode.IsPrint(r) {
			continue
		}
		if len(short)+utf8.RuneLen(r) > validation.FieldManagerMaxLength {
			break
		}
		short += string(r)
	}
	return short
}

// shown returns a value as text; the values of Secrets are hidden.
func shown(path fieldowners.Path, ref view.Ref, value any, exists bool) string {
	if !exists {
		return ""
	}
	if fieldowners.IsSecret(ref.GVK().Group, ref.Kind) && path.HoldsSecret() {
		value = fieldowners.Hide(value)
	}
	return fieldowners.FormatValue(value)
}
