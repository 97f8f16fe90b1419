package apply

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/openapi"
	"k8s.io/kube-openapi/pkg/spec3"
)

// schemas are the API server's own, by group and version, from /openapi/v3. They say
// which lists are maps, sets or atomic, and by which keys with which defaults.
type schemas struct {
	server openapi.ClientWithContext

	turn      chan struct{} // held by the one who reads or writes what follows
	byVersion map[schema.GroupVersion]*knownSchema
	paths     map[string]openapi.GroupVersionWithContext
	asked     time.Time // for paths
	failing   bool

	due atomic.Int64 // when they are asked for again at the latest, in nanoseconds
}

type knownSchema struct {
	url       string // ends in a hash of the content
	converter managedfields.TypeConverter
	err       error
	replaced  atomic.Bool
}

// good tells whether what was proven by a schema still is: for as long as nobody has to
// ask whether it changed.
func (s *schemas) good(known *knownSchema, now time.Time) bool {
	return !known.replaced.Load() && now.UnixNano() < s.due.Load()
}

// Schemas change with the server's version and with CustomResourceDefinitions.
const (
	schemasKept  = 10 * time.Minute
	schemasRetry = 10 * time.Second // and how long a request may take
)

func newSchemas(server openapi.Client) *schemas {
	return &schemas{
		server: openapi.ToClientWithContext(server), turn: make(chan struct{}, 1), byVersion: map[schema.GroupVersion]*knownSchema{},
	}
}

// of gives the schemas of a group and version. A server that has none is not asked
// before each apply: an error is remembered for a moment.
func (s *schemas) of(ctx context.Context, version schema.GroupVersion) (*knownSchema, error) {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	ctx = context.WithValue(ctx, exchangeKey{}, nil) // no request of the one who happens to ask
	known, now := s.byVersion[version], time.Now()
	missing := known == nil || known.err != nil
	if now.UnixNano() >= s.due.Load() || missing && now.After(s.asked.Add(schemasRetry)) {
		s.refresh(ctx, now)
	}
	if known = s.byVersion[version]; known == nil {
		known = s.fetch(ctx, version)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		s.byVersion[version] = known
	}
	return known, known.err
}

// refresh asks which schemas there are, and drops those that changed or failed.
func (s *schemas) refresh(ctx context.Context, now time.Time) {
	asking, cancel := context.WithTimeout(ctx, schemasRetry)
	defer cancel()
	paths, err := s.server.PathsWithContext(asking)
	if err != nil && ctx.Err() != nil {
		return // the next one asks
	}
	s.asked = now
	if err != nil {
		s.due.Store(now.Add(schemasRetry).UnixNano())
		if !s.failing { // once is enough
			logr.FromContextOrDiscard(ctx).Error(err, "asking the API server for its schemas: what they would prove is sent meanwhile")
		}
		s.failing = true
		return
	}
	s.failing, s.paths = false, paths
	s.due.Store(now.Add(schemasKept + rand.N(schemasKept/10)).UnixNano())
	for version, known := range s.byVersion {
		if path, ok := paths[pathOf(version)]; !ok || known.err != nil || path.ServerRelativeURL() != known.url {
			known.replaced.Store(true)
			delete(s.byVersion, version)
		}
	}
}

func (s *schemas) fetch(ctx context.Context, version schema.GroupVersion) *knownSchema {
	failed := func(err error) *knownSchema {
		return &knownSchema{err: fmt.Errorf("the API server's schemas of %v: %w", version, err)}
	}
	path, ok := s.paths[pathOf(version)]
	if !ok {
		return failed(fmt.Errorf("it names none at %s", pathOf(version)))
	}
	asking, cancel := context.WithTimeout(ctx, schemasRetry)
	defer cancel()
	raw, err := path.SchemaWithContext(asking, "application/json")
	if err != nil {
		return failed(err)
	}
	var document spec3.OpenAPI
	if err := json.Unmarshal(raw, &document); err != nil {
		return failed(err)
	}
	if document.Components == nil {
		return failed(fmt.Errorf("there are none in %s", path.ServerRelativeURL()))
	}
	converter, err := managedfields.NewTypeConverter(document.Components.Schemas, false)
	if err != nil {
		return failed(err)
	}
	return &knownSchema{url: path.ServerRelativeURL(), converter: converter}
}

func pathOf(version schema.GroupVersion) string {
	if version.Group == "" {
		return "api/" + version.Version
	}
	return "apis/" + version.Group + "/" + version.Version
}
