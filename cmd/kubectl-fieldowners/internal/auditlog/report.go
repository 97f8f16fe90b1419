package auditlog

import (
	"fmt"
	"strings"
	"time"

	"github.com/dustin/go-humanize/english"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"coapply.dev/cmd/kubectl-fieldowners/internal/view"
	"coapply.dev/fieldowners"
)

// Report is the result of a trace. Its JSON is the output of -o json. The format is stable: fields may be added.
type Report struct {
	From time.Time `json:"from,omitzero"` // the time of the first request that can change objects, also if it failed
	To   time.Time `json:"to,omitzero"`   // the time of the last such request, also if it failed

	Events     int `json:"events"`     // the number of events that were read
	Unreadable int `json:"unreadable"` // the number of lines that are not audit events
	// Levels is the number of requests that can change objects, by audit level. Only RequestResponse shows owners.
	Levels map[string]int `json:"levels"`
	// Disordered is the number of writes that the log has after a write with a higher resourceVersion of the same object.
	// They are not compared.
	Disordered    int `json:"disordered"`
	UnreadEntries int `json:"unreadEntries"` // the number of managed fields entries that cannot be parsed
	Objects       int `json:"objects"`       // the number of objects with a known state

	Writers []*Writer  `json:"writers"`
	Taken   []*Taken   `json:"taken"`
	Refused []*Refused `json:"refused"`
	Fights  []Fight    `json:"fights"`
	// History has the changes of the object that --object names.
	History []Change `json:"history,omitempty"`
	// Moves has the first mostMoves changes of owners in order of time, for the timeline of -o html.
	Moves []Move `json:"-"`
}

// Writer is a client that sends one kind of request.
type Writer struct {
	writerKey

	Writes    int `json:"writes"`    // the requests that succeeded
	Unchanged int `json:"unchanged"` // the writes that did not change the object
	Conflicts int `json:"conflicts"` // the requests that were refused because another field manager owns a field
	Stale     int `json:"stale"`     // other responses 409, except AlreadyExists: the object had changed or been recreated
	Failed    int `json:"failed"`    // all other requests that did not succeed
}

type writerKey struct {
	User      string `json:"user"`
	UserAgent string `json:"userAgent"`
	Manager   string `json:"manager"`
	Verb      string `json:"verb"`
	Resource  string `json:"resource"` // such as deployments.apps/scale
}

// Requests returns the number of requests of the writer.
func (w *Writer) Requests() int { return w.Writes + w.Conflicts + w.Stale + w.Failed }

// Move is one change of the owner of a field.
type Move struct {
	Time     time.Time
	From, To string
}

// mostMoves is the maximum number of Report.Moves.
const mostMoves = 2000

// Taken is a field of one object that one field manager took from another one, once or several times.
type Taken struct {
	takenKey

	Object view.Ref  `json:"object"`
	User   string    `json:"user"` // "unknown" if only a response to another client shows the new owner
	Times  int       `json:"times"`
	Last   time.Time `json:"last"`
	// Before and After are the values at the last time, as JSON; "" means that the field did not exist, or is not known.
	Before string `json:"before"`
	After  string `json:"after"`
}

type takenKey struct {
	key key

	Path string `json:"path"`
	From string `json:"from"`
	To   string `json:"to"`
	// Inferred means that the log does not show one of the two owners: a response of /scale has no managed fields. The API
	// server may then have recorded another owner, or none.
	Inferred bool `json:"inferred,omitempty"`
}

// Refused is an ownership conflict: the API server refused applies because another field manager owns a field.
type Refused struct {
	Object  view.Ref  `json:"object"`
	Path    string    `json:"serverPath"` // as the API server writes it
	Manager string    `json:"manager"`
	Owner   string    `json:"owner"`
	User    string    `json:"user"`
	Times   int       `json:"times"`
	Last    time.Time `json:"last"`
}

type refusedKey struct {
	key                  key
	path, manager, owner string
}

// Fight is a fight for a field, or a loop of writes, as the command watch reports them.
type Fight struct {
	Time    time.Time `json:"time"`
	Object  view.Ref  `json:"object"`
	Path    string    `json:"path,omitempty"` // "" for a loop
	Message string    `json:"message"`
}

// Change is one change of the object that --object names.
type Change struct {
	Time    time.Time `json:"time"`
	What    string    `json:"what"` // created, first seen, taken, changed, deleted, conflict or stale write
	Path    string    `json:"path,omitempty"`
	Manager string    `json:"manager"`
	From    string    `json:"from,omitempty"` // the manager that lost the field
	User    string    `json:"user"`
	Before  string    `json:"before,omitempty"`
	After   string    `json:"after,omitempty"`
	// Inferred means that the log does not show one of the two owners, as in Taken.
	Inferred bool `json:"inferred,omitempty"`
}

// Selection selects the objects and fields of a trace. With a Name, the report has their history.
type Selection struct {
	Resource  schema.GroupResource // a resource or a kind; empty for all objects
	Name      string               // "" for all objects
	Namespace string               // "" for all namespaces
	Path      fieldowners.Path     // the zero value for all fields
}

func (s Selection) namesOne() bool { return s.Name != "" }

func (s Selection) under(path fieldowners.Path) bool { return path.HasPrefix(s.Path) }

// object reports whether an object is selected.
func (s Selection) object(k key) bool {
	if s.Namespace != "" && k.namespace != s.Namespace || s.Name != "" && k.name != s.Name {
		return false
	}
	if s.Resource.Resource == "" {
		return true
	}
	typed := strings.ToLower(s.Resource.Resource)
	plural, _ := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Kind: typed})
	return (s.Resource.Group == "" || s.Resource.Group == k.group) && (k.resource == typed || k.resource == plural.Resource)
}

// Notes returns sentences about what the logs do not show.
func (r Report) Notes() []string {
	var notes []string
	if r.Unreadable > 0 {
		notes = append(notes, english.Plural(r.Unreadable, "line", "")+" skipped: not audit events, or cut off")
	}
	if low := r.Levels["Metadata"] + r.Levels["Request"]; low > 0 {
		notes = append(notes, fmt.Sprintf("%s at the audit level Metadata or Request: the log lacks the responses, so owners, values and unchanged writes are not shown", english.Plural(low, "request", "")))
	}
	if r.Disordered > 0 {
		notes = append(notes, english.Plural(r.Disordered, "write", "")+" not compared: the logs have a later write to the same object first; check whether a log is missing")
	}
	if r.UnreadEntries > 0 {
		notes = append(notes, english.Plural(r.UnreadEntries, "managed fields entry", "managed fields entries")+" could not be parsed")
	}
	return notes
}
