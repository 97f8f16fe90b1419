// Package auditlog evaluates audit logs of the API server: who wrote which objects, and who took which field from whom.
//
// The logs are read as streams. Memory is bounded by the number of objects, writers and changes of owners. Lines that are
// not audit events are counted and skipped.
package auditlog

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// event is the part of an audit event (audit.k8s.io/v1) that the trace needs.
type event struct {
	Kind, APIVersion, Level, Stage, Verb, RequestURI, UserAgent string

	User, ImpersonatedUser struct{ Username string }
	ObjectRef              *struct {
		Resource, Namespace, Name, APIGroup, APIVersion, Subresource string
	}
	ResponseStatus metav1.Status
	ResponseObject *head
	StageTimestamp time.Time

	line []byte // the line of the log, for the values in the response
}

// head is the part of a response that is decoded in each event.
type head struct {
	APIVersion, Kind string
	Metadata         struct {
		Name, UID, ResourceVersion string
		ManagedFields              []metav1.ManagedFieldsEntry
	}
}

// maxLine is the maximum length of a line in bytes. The API server accepts requests of up to 3 MiB, so a line with the
// request and the response is usually shorter.
const maxLine = 16 << 20

// writing are the verbs of requests that can change objects.
var writing = []string{"create", "update", "patch", "delete", "deletecollection"}

// reader reads the events of one audit log, in the order of the log.
type reader struct {
	name  string
	lines *bufio.Reader
	next  *event // the next event for merge; nil at the end of the log

	events, unreadable int // all events, and the lines that are no events
	err                error
}

// newReader returns a reader of a log, which may be compressed by gzip.
func newReader(name string, log io.Reader) *reader {
	r := &reader{name: name, lines: bufio.NewReaderSize(log, 1<<20)}
	if magic, _ := r.lines.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		unzipped, err := gzip.NewReader(r.lines)
		if err != nil {
			r.err = fmt.Errorf("%s: %w", name, err)
			return r
		}
		r.lines = bufio.NewReaderSize(unzipped, 1<<20)
	}
	r.advance()
	return r
}

// advance sets next to the next event of a completed request that can change objects.
func (r *reader) advance() {
	r.next = nil
	for r.next == nil && r.err == nil {
		line, err := r.line()
		if err != nil && !errors.Is(err, io.EOF) {
			r.err = fmt.Errorf("%s: after %d events: %w", r.name, r.events, err)
		} else if err != nil {
			r.err = io.EOF
		}
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if skippable(line) {
			r.events++
			continue
		}
		e := &event{}
		if json.Unmarshal(line, e) != nil || e.Kind != "Event" || e.APIVersion != "audit.k8s.io/v1" {
			r.unreadable++
			continue
		}
		r.events++
		if e.Stage == "ResponseComplete" && e.ObjectRef != nil && slices.Contains(writing, e.Verb) {
			e.line = bytes.Clone(line)
			r.next = e
		}
	}
}

// skippable reports whether a line is certainly an event of a request that changes nothing, such as a GET. The API server
// writes the members of an event in a fixed order, in which only two members before the verb have text of the client:
// auditID and requestURI. Quotes in them are escaped, so they cannot imitate a verb. A line in another order is parsed.
func skippable(line []byte) bool {
	if !bytes.HasPrefix(line, []byte(`{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"`)) || line[len(line)-1] != '}' {
		return false
	}
	_, rest, found := bytes.Cut(line, []byte(`","verb":"`))
	verb, _, ended := bytes.Cut(rest, []byte(`"`))
	return found && ended && !slices.Contains(writing, string(verb))
}

// line returns the next line. A line that is longer than maxLine is cut off, so that it counts as unreadable.
func (r *reader) line() (line []byte, err error) {
	for {
		part, err := r.lines.ReadSlice('\n')
		switch {
		case !errors.Is(err, bufio.ErrBufferFull):
			if line == nil {
				return part, err
			}
			return append(line, part...), err
		case len(line) <= maxLine:
			line = append(line, part...)
		default: // discard the rest, but keep the beginning, so that the line counts as one
			line = line[:maxLine+1]
		}
	}
}
