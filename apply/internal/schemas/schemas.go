// Package schemas fetches the API server's OpenAPI schemas in the background, and detects changes of the schemas.
package schemas

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
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
	failures int           // the number of failed requests in a row
	next     time.Time     // the time before which no other request is sent
	err      error         // the error of the last request
}

const (
	inquiryTimeout  = 10 * time.Second
	inquiryPatience = time.Second
)

// afterFailures returns the back-off after n failed requests in a row: from one second to about two minutes, with
// jitter.
func afterFailures(n int) time.Duration {
	return wait.Jitter(time.Second<<min(n-1, 7), 0.5)
}

// ask starts a request in the background. It does nothing if a request is in progress, or if the back-off has not
// passed. The given function sends the request, and returns a function that stores the response. The returned function
// is called with mu held. onFailure is called with the error of the first of several failures in a row.
func (q *inquiry) ask(request func(context.Context) (keep func(), err error), onFailure func(error)) {
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
		q.ended, q.err = nil, err
		defer close(ended)
		if err == nil {
			q.failures = 0
			keep()
			return
		}
		q.failures++
		q.next = time.Now().Add(afterFailures(q.failures))
		if q.failures == 1 {
			onFailure(err)
		}
	}()
}

// wait returns when the current request ends, when the time q.patience is reached, or when the context ends. If the
// last request failed, wait returns at once. The caller must hold mu, which is unlocked during the wait.
func (q *inquiry) wait(ctx context.Context) {
	if q.failures > 0 {
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
// The index of all schemas and the schemas of each group and version are fetched in the background, independently of
// each other: a request without a response delays no other request. The Set returns known schemas until the index shows
// that the API server has replaced them.
type Set struct {
	server openapi.ClientWithContext
	due    atomic.Int64 // when to fetch the index again, in nanoseconds since 1970

	mu        sync.Mutex
	index     inquiry
	paths     map[string]openapi.GroupVersionWithContext // the index; nil until it was fetched once
	documents map[schema.GroupVersion]*document          // only for the versions for which Of was called
}

// document is the state of fetching the schemas of one group and version.
type document struct {
	inquiry

	known *Known // the schemas; nil until they were fetched
}

// Known is the schemas of one group and version that were fetched from the API server.
type Known struct {
	url       string // contains a hash of the schemas
	Converter managedfields.TypeConverter
	replaced  atomic.Bool // the API server now has other schemas
}

// The intervals between requests for the index of all schemas. Schemas change with the version of the API server, and
// with CustomResourceDefinitions.
const (
	schemasKept  = 10 * time.Minute // the time after which the index is fetched again
	schemasRetry = 10 * time.Second // the same if a schema is needed that is not in the index
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
	if now.UnixNano() >= s.due.Load() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.refresh(ctx)
	}
	return !known.replaced.Load()
}

// Of returns the schemas of a group and version. The first call waits for the API server's response, for about one
// second at most. Later calls, and calls after a failed request, do not wait. If the schemas have not arrived yet, the
// error wraps ErrNotYet.
func (s *Set) Of(ctx context.Context, version schema.GroupVersion) (*Known, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Now().UnixNano() >= s.due.Load() {
		s.refresh(ctx)
	}
	if s.paths == nil {
		s.index.wait(ctx)
	}
	path, ok := s.paths[pathOf(version)]
	switch {
	case s.paths == nil:
		return nil, fmt.Errorf("getting the list of the API server's schemas: %w", s.index.unknown())
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
		if d.failures > 0 {
			s.refresh(ctx) // the URL of the schemas may have changed
		}
		s.fetch(ctx, version, d, path)
		d.wait(ctx)
	}
	if d.known == nil {
		return nil, fmt.Errorf("getting the API server's schemas of %v: %w", version, d.unknown())
	}
	return d.known, nil
}

// ErrNotYet means that schemas are not known yet, because the API server has not sent them.
var ErrNotYet = errors.New("not known yet")

func (q *inquiry) unknown() error {
	if q.err == nil {
		return ErrNotYet
	}
	return fmt.Errorf("%w: %w", ErrNotYet, q.err)
}

// refresh starts to fetch the index in the background. When the index arrives, known schemas that have changed are
// dropped.
func (s *Set) refresh(ctx context.Context) {
	log := logr.FromContextOrDiscard(ctx)
	s.index.ask(func(ctx context.Context) (func(), error) {
		paths, err := s.server.PathsWithContext(ctx)
		return func() { s.keepIndex(paths) }, err
	}, func(err error) {
		log.Error(err, "getting the list of the API server's schemas failed and is retried: until it succeeds, known schemas are still used, "+
			"intents of other kinds are sent each time, and list items of updates are matched by equality alone")
	})
}

func (s *Set) keepIndex(paths map[string]openapi.GroupVersionWithContext) {
	now := time.Now()
	s.paths, s.index.next = paths, now.Add(schemasRetry)
	s.due.Store(now.Add(schemasKept + rand.N(schemasKept/10)).UnixNano())
	for version, d := range s.documents {
		path, ok := paths[pathOf(version)]
		if d.known != nil && (!ok || path.ServerRelativeURL() != d.known.url) {
			d.known.replaced.Store(true)
			d.known = nil
		}
	}
}

func (s *Set) fetch(ctx context.Context, version schema.GroupVersion, d *document, path openapi.GroupVersionWithContext) {
	log, url := logr.FromContextOrDiscard(ctx), path.ServerRelativeURL()
	d.ask(func(ctx context.Context) (func(), error) {
		converter, err := converterFrom(ctx, path)
		return func() {
			if now, ok := s.paths[pathOf(version)]; ok && now.ServerRelativeURL() == url { // if the URL has changed, the next Of fetches the schemas again
				d.known = &Known{url: url, Converter: converter}
			}
		}, err
	}, func(err error) {
		log.Error(err, "getting a schema from the API server failed and is retried: until it succeeds, intents of this group and version are "+
			"sent each time, and list items of updates are matched by equality alone",
			"groupVersion", version.String())
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
