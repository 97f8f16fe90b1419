package applytest

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
)

// Recorder counts the requests that go over the wire, client-go's own retries included. Wrap
// the rest.Config with it before any client is made from it:
//
//	recorder := applytest.NewRecorder()
//	cfg.Wrap(recorder.Wrap)
//
// It is safe for concurrent use and changes nothing: bodies and watches pass through. A request
// is recorded when its answer begins. A request whose context had ended before is not sent, and
// not recorded.
type Recorder struct {
	mu       sync.Mutex
	requests []Request
}

// NewRecorder returns an empty Recorder.
func NewRecorder() *Recorder { return &Recorder{} }

// Wrap returns a transport that records the requests through next.
func (r *Recorder) Wrap(next http.RoundTripper) http.RoundTripper {
	return recording{r, next}
}

// Requests returns the requests recorded so far, in the order of their answers.
func (r *Recorder) Requests() []Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.requests)
}

// Count returns how many requests match. Empty fields of the query match everything, so DryRun
// and Forced can be required but not excluded. Count panics for a query that no request can
// match, because its Verb or Class is not one of this package's or its Resource is a kind: a
// test that expects zero of them would prove nothing. Names are not checked.
func (r *Recorder) Count(query Request) int {
	if err := query.validate(); err != nil {
		panic(fmt.Sprintf("applytest: Recorder.Count: %v", err))
	}
	count := 0
	for _, request := range r.Requests() {
		if request.matches(query) {
			count++
		}
	}
	return count
}

// Reset removes what was recorded.
func (r *Recorder) Reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests = nil
}

// String returns a table for messages of tests: how many requests of each kind, in the order in
// which each kind first came.
func (r *Recorder) String() string {
	requests := r.Requests()
	if len(requests) == 0 {
		return "no requests"
	}
	var rows []string
	counts := map[string]int{}
	for _, request := range requests {
		row := request.row()
		if counts[row]++; counts[row] == 1 {
			rows = append(rows, row)
		}
	}
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "COUNT\tVERB\tRESOURCE\tCLASS")
	for _, row := range rows {
		fmt.Fprintf(w, "%d\t%s\n", counts[row], row)
	}
	_ = w.Flush() // to a text in memory
	return table.String()
}

func (r Request) row() string {
	verb, resource := string(r.Verb), r.Resource
	if r.Forced {
		verb += ", forced"
	}
	if r.DryRun {
		verb += ", dry run"
	}
	if resource == "" {
		resource = "-"
	}
	if r.Subresource != "" {
		resource += "/" + r.Subresource
	}
	return verb + "\t" + resource + "\t" + string(r.Class)
}

// recording is one wrapped transport.
type recording struct {
	*Recorder

	next http.RoundTripper
}

func (r recording) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Context().Err() != nil {
		return r.next.RoundTrip(request)
	}
	record := describe(request)
	response, err := r.next.RoundTrip(request)
	switch {
	case err != nil:
		record.Class = ClassNoAnswer
	case response.StatusCode < http.StatusBadRequest:
		record.Class = ClassSuccess
	default:
		record.Class = classOf(failureOf(request.Method, response.StatusCode, peek(response)))
	}
	r.mu.Lock()
	r.requests = append(r.requests, record)
	r.mu.Unlock()
	return response, err
}

// WrappedRoundTripper returns the transport below, for client-go.
func (r recording) WrappedRoundTripper() http.RoundTripper { return r.next }

// maxPeek is more than the length of any Status of the API server.
const maxPeek = 1 << 20

// peek returns the body of a failure, and restores it for the next reader, with the error in
// which reading ended.
func peek(response *http.Response) []byte {
	body := response.Body
	head, err := io.ReadAll(io.LimitReader(body, maxPeek))
	rest := io.Reader(body)
	if err != nil {
		rest = failingReader{err}
	}
	response.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(head), rest), body}
	return head
}

type failingReader struct{ err error }

func (f failingReader) Read([]byte) (int, error) { return 0, f.err }
