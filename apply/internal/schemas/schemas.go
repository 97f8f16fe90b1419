// Package schemas fetches the API server's OpenAPI schemas in the background, and detects changes of the schemas.
package schemas

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/openapi"
	"k8s.io/kube-openapi/pkg/spec3"
)

// inquiry fetches one document from the API server in the background: the index of all schemas, or the schemas of one
// group and version. It sends one request at a time, in a goroutine that ends after inquiryTimeout at the latest. A
// failed request is followed by a back-off. Callers wait for a request until inquiryPatience after its start. After a
// failed request, callers do not wait, so an unresponsive API server delays them only once.
type inquiry struct {
	mu *sync.Mutex // guards the fields below, and the fields in which the response is stored

	ended    chan struct{} // closed when the current request ends; nil if there is none
	patience time.Time     // the time until which callers wait for the current request
	backoff  time.Duration // the time from the last failed request to the next request, without its jitter
	next     time.Time     // the time before which no other request is sent
	err      error         // the error of the last request, or nil
}

const (
	inquiryTimeout  = 10 * time.Second
	inquiryPatience = time.Second
	maxBackoff      = 128 * time.Second
)

// ask starts a request in the background. It does nothing if a request is in progress, or if the back-off has not
// passed. The given function sends the request, and returns a function that stores the response. The returned function
// is called with mu held. The first of several failures in a row is logged with the given message.
func (q *inquiry) ask(log logr.Logger, message string, request func(context.Context) (keep func(), err error)) {
	now := time.Now()
	if q.ended != nil || now.Before(q.next) {
		return
	}
	ended := make(chan struct{})
	q.ended, q.patience = ended, now.Add(inquiryPatience)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), inquiryTimeout)
		defer cancel()
		keep, err := withoutPanic(ctx, request)
		q.mu.Lock()
		defer q.mu.Unlock()
		defer close(ended)
		failed := q.err != nil
		q.ended, q.err = nil, err
		if err == nil {
			q.backoff = 0
			keep()
			return
		}
		q.backoff = min(max(2*q.backoff, time.Second), maxBackoff)
		q.next = time.Now().Add(wait.Jitter(q.backoff, 0.5))
		if !failed {
			log.Error(err, message)
		}
	}()
}

// wait returns when the current request ends, when the time q.patience is reached, or when the context ends. If the
// last request failed, wait returns at once. The caller must hold mu, which is unlocked during the wait.
func (q *inquiry) wait(ctx context.Context) {
	if q.err != nil {
		return
	}
	ended, patience := q.ended, time.Until(q.patience)
	q.mu.Unlock()
	defer q.mu.Lock()
	select {
	case <-ended:
	case <-time.After(patience):
	case <-ctx.Done():
	}
}

// withoutPanic calls request, and converts a panic of request to an error. A panic in a goroutine would end the
// process. It could be caused by the schema of a CustomResourceDefinition, which anybody may have written.
func withoutPanic(ctx context.Context, request func(context.Context) (func(), error)) (keep func(), err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("reading the response panicked: %v", r)
		}
	}()
	return request(ctx)
}

// Set contains the API server's OpenAPI schemas (/openapi/v3), by group and version. A schema defines the types of
// lists (map, set or atomic), the keys of list items, and the defaults of fields.
//
// A request without a response delays no other request. The Set returns known schemas until the index of all schemas
// shows that the API server has replaced them.
type Set struct {
	server openapi.ClientWithContext

	mu        sync.Mutex
	index     inquiry
	due       time.Time                                  // when to fetch the index again
	paths     map[string]openapi.GroupVersionWithContext // the index; nil until it was fetched once
	documents map[schema.GroupVersion]*document          // only for the versions for which Of was called
}

// document is the state of fetching the schemas of one group and version.
type document struct {
	inquiry

	known *Known // the schemas; nil until they were fetched
}

// Known contains the schemas of one group and version that were fetched from the API server.
type Known struct {
	url       string // contains a hash of the schemas
	Converter managedfields.TypeConverter
	replaced  bool // the API server now has other schemas; guarded by Set.mu
}

// The intervals between requests for the index of all schemas. Schemas change with the version of the API server, and
// with CustomResourceDefinitions.
const (
	schemasKept  = 10 * time.Minute // the time after which the index is fetched again
	schemasRetry = 10 * time.Second // the minimum time between two fetches, if a schema is needed that is not in the index
)

// New returns a Set for an API server. It sends no request.
func New(server openapi.Client) *Set {
	s := &Set{server: openapi.ToClientWithContext(server), documents: map[schema.GroupVersion]*document{}}
	s.index.mu = &s.mu
	return s
}

// Good reports whether the given schemas are current according to the last fetched index. If they are not, proofs that
// used them are not valid (see package steady). If the index is old, Good starts to fetch a new one in the background.
func (s *Set) Good(ctx context.Context, known *Known, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !now.Before(s.due) {
		s.refresh(ctx)
	}
	return !known.replaced
}

// Of returns the schemas of a group and version. The first call waits for the API server's response, for about one
// second at most. Later calls, and calls after a failed request, do not wait. If the schemas have not arrived yet, the
// error wraps the error of the last request, or errNotYet.
func (s *Set) Of(ctx context.Context, version schema.GroupVersion) (*Known, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !time.Now().Before(s.due) {
		s.refresh(ctx)
	}
	if s.paths == nil {
		s.index.wait(ctx)
	}
	path, ok := s.paths[pathOf(version)]
	switch {
	case s.paths == nil:
		return nil, fmt.Errorf("getting the list of the API server's schemas: %w", cmp.Or(s.index.err, errNotYet))
	case !ok:
		s.refresh(ctx)
		return nil, fmt.Errorf("the API server's list of schemas lacks %s", pathOf(version))
	}
	d := s.documents[version]
	if d == nil {
		d = &document{inquiry: inquiry{mu: &s.mu}}
		s.documents[version] = d
	}
	if d.known == nil {
		if d.err != nil {
			s.refresh(ctx) // the URL of the schemas may have changed
		}
		s.fetch(ctx, version, d, path)
		d.wait(ctx)
	}
	if d.known == nil {
		return nil, fmt.Errorf("getting the API server's schemas of %v: %w", version, cmp.Or(d.err, errNotYet))
	}
	return d.known, nil
}

var errNotYet = errors.New("the API server has not responded yet")

// refresh starts to fetch the index in the background. When the index arrives, known schemas that have changed are
// dropped.
func (s *Set) refresh(ctx context.Context) {
	const failed = "getting the list of the API server's schemas failed and is retried: until it succeeds, known schemas are still used, " +
		"intents of other kinds are sent each time, and list items of updates are matched by equality alone"
	s.index.ask(logr.FromContextOrDiscard(ctx), failed, func(ctx context.Context) (func(), error) {
		paths, err := s.server.PathsWithContext(ctx)
		return func() { s.keepIndex(paths) }, err
	})
}

func (s *Set) keepIndex(paths map[string]openapi.GroupVersionWithContext) {
	now := time.Now()
	s.paths, s.index.next = paths, now.Add(schemasRetry)
	s.due = now.Add(wait.Jitter(schemasKept, 0.1))
	for version, d := range s.documents {
		if d.known != nil && urlIn(paths, version) != d.known.url {
			d.known.replaced = true
			d.known = nil
		}
	}
}

// urlIn returns the URL of the schemas of a group and version, or "" if they are not in the index.
func urlIn(paths map[string]openapi.GroupVersionWithContext, version schema.GroupVersion) string {
	if path, ok := paths[pathOf(version)]; ok {
		return path.ServerRelativeURL()
	}
	return ""
}

func (s *Set) fetch(ctx context.Context, version schema.GroupVersion, d *document, path openapi.GroupVersionWithContext) {
	const failed = "getting a schema from the API server failed and is retried: until it succeeds, intents of this group and version are " +
		"sent each time, and list items of updates are matched by equality alone"
	log := logr.FromContextOrDiscard(ctx).WithValues("groupVersion", version.String())
	d.ask(log, failed, func(ctx context.Context) (func(), error) {
		converter, err := converterFrom(ctx, path)
		return func() {
			if url := path.ServerRelativeURL(); url == urlIn(s.paths, version) { // if not, the next Of fetches the schemas again
				d.known = &Known{url: url, Converter: converter}
			}
		}, err
	})
}

func converterFrom(ctx context.Context, path openapi.GroupVersionWithContext) (managedfields.TypeConverter, error) {
	raw, err := path.SchemaWithContext(ctx, "application/json")
	if err != nil {
		return nil, err
	}
	var document spec3.OpenAPI
	if err := json.Unmarshal(raw, &document); err != nil {
		return nil, err
	}
	if document.Components == nil {
		return nil, fmt.Errorf("the API server's response at %s has no schemas", path.ServerRelativeURL())
	}
	return managedfields.NewTypeConverter(document.Components.Schemas, false)
}

func pathOf(version schema.GroupVersion) string {
	if version.Group == "" {
		return "api/" + version.Version
	}
	return "apis/" + version.Group + "/" + version.Version
}
