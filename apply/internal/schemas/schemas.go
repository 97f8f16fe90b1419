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
	"k8s.io/client-go/openapi"
	"k8s.io/kube-openapi/pkg/spec3"
)

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
