// Package schemas fetches the API server's own schemas, in the background, and notices
// when they change.
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

// inquiry asks the API server for something in the background, one request at a time. After a
// failure the next request waits for a back-off, which begins when the failed one ended.
// Callers wait for the answer briefly, and only if the last request did not fail, so an answer
// that does not come holds up callers once.
//
// A request runs in a goroutine, which ends with it: after inquiryTimeout at the latest.
type inquiry struct {
	mu *sync.Mutex // guards the fields below, and what keep writes to

	ended    chan struct{} // closed when the request under way has ended; nil if there is none
	patience time.Time     // until when callers wait for it
	failures int           // in a row
	next     time.Time     // no request before
	err      error         // of the last request
}

const (
	inquiryTimeout  = 10 * time.Second
	inquiryPatience = time.Second
)

// afterFailures returns the wait after this many failures in a row: from a second to some two
// minutes.
func afterFailures(n int) time.Duration {
	return wait.Jitter(time.Second<<min(n-1, 7), 0.5)
}

// ask starts a request, unless one is under way or it is too early for another. keep is called
// with mu held. onFailure is called with the first error in a row.
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

// wait unlocks mu until the request under way has ended, patience is over, or the context has
// ended.
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

// withoutPanic returns a panic of request as an error: somebody else wrote the schema of a
// CustomResourceDefinition, and a panic in a goroutine would end the process.
func withoutPanic(ctx context.Context, request func(context.Context) (func(), error)) (keep func(), err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("it cannot be read: %v", r)
		}
	}()
	return request(ctx)
}

// Set is the API server's own schemas, by group and version, from /openapi/v3. They have the
// types of lists (map, set or atomic), their keys, and defaults.
//
// The index and each document are fetched in the background, independently: one that does not
// come delays nothing else. A known schema stays until the server is seen to have another one.
type Set struct {
	server openapi.ClientWithContext
	due    atomic.Int64 // when the index is fetched again, in nanoseconds since 1970

	mu        sync.Mutex
	index     inquiry
	paths     map[string]openapi.GroupVersionWithContext // nil before the first index
	documents map[schema.GroupVersion]*document          // of versions asked for
}

// document is the schema of a group and version.
type document struct {
	inquiry

	known *Known // nil before the first answer
}

// Known is a schema as the server had it.
type Known struct {
	url       string // ends in a hash of the content
	Converter managedfields.TypeConverter
	replaced  atomic.Bool
}

// Schemas change with the server's version and with CustomResourceDefinitions.
const (
	schemasKept  = 10 * time.Minute
	schemasRetry = 10 * time.Second // how old an index may be if it lacks what is needed
)

// New returns the schemas of a server, without a request.
func New(server openapi.Client) *Set {
	s := &Set{server: openapi.ToClientWithContext(server), documents: map[schema.GroupVersion]*document{}}
	s.index.mu = &s.mu
	return s
}

// Good reports whether proofs by a schema still hold: until the server is seen to have another
// one.
func (s *Set) Good(ctx context.Context, known *Known, now time.Time) bool {
	if now.UnixNano() >= s.due.Load() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.refresh(ctx)
	}
	return !known.replaced.Load()
}

// Of returns the schemas of a group and version. The first calls wait for the answer, about a
// second at most. Later calls, and those after a failure, do not wait: they return an error
// until the answer has come.
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
		return nil, fmt.Errorf("the API server's schemas: %w", s.index.unknown())
	case !ok:
		s.refresh(ctx)
		return nil, fmt.Errorf("the API server names no schemas at %s", pathOf(version))
	}
	d := s.documents[version]
	if d == nil {
		d = &document{inquiry: inquiry{mu: &s.mu}}
		s.documents[version] = d
	}
	if d.known == nil {
		if d.failures > 0 {
			s.refresh(ctx) // it may have another URL now
		}
		s.fetch(ctx, version, d, path)
		d.wait(ctx)
	}
	if d.known == nil {
		return nil, fmt.Errorf("the API server's schemas of %v: %w", version, d.unknown())
	}
	return d.known, nil
}

// ErrNotYet is the error before the first answer has come.
var ErrNotYet = errors.New("not known yet")

func (q *inquiry) unknown() error {
	if q.err == nil {
		return ErrNotYet
	}
	return fmt.Errorf("%w: %w", ErrNotYet, q.err)
}

// refresh fetches the index, and drops the schemas that have changed.
func (s *Set) refresh(ctx context.Context) {
	log := logr.FromContextOrDiscard(ctx)
	s.index.ask(func(ctx context.Context) (func(), error) {
		paths, err := s.server.PathsWithContext(ctx)
		return func() { s.keepIndex(paths) }, err
	}, func(err error) {
		log.Error(err, "the API server does not say which schemas it has: those that are known stay trusted, "+
			"intents of other kinds are sent each time, and list items of updates are matched by equality alone, until it does")
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

// fetch fetches the document of a version.
func (s *Set) fetch(ctx context.Context, version schema.GroupVersion, d *document, path openapi.GroupVersionWithContext) {
	log, url := logr.FromContextOrDiscard(ctx), path.ServerRelativeURL()
	d.ask(func(ctx context.Context) (func(), error) {
		converter, err := converterFrom(ctx, path)
		return func() {
			if now, ok := s.paths[pathOf(version)]; ok && now.ServerRelativeURL() == url { // otherwise it is fetched again
				d.known = &Known{url: url, Converter: converter}
			}
		}, err
	}, func(err error) {
		log.Error(err, "the API server does not give its schema: intents of this group and version are sent each time, "+
			"and list items of updates are matched by equality alone, until it does",
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
		return nil, fmt.Errorf("there are none in %s", path.ServerRelativeURL())
	}
	return managedfields.NewTypeConverter(document.Components.Schemas, false)
}

func pathOf(version schema.GroupVersion) string {
	if version.Group == "" {
		return "api/" + version.Version
	}
	return "apis/" + version.Group + "/" + version.Version
}
