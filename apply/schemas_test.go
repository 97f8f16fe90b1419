package apply

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/openapi"
	"k8s.io/client-go/openapi/openapitest"
)

// apiServer counts what is asked of it, and can be down or have another version.
type apiServer struct {
	openapi.Client
	paths, documents int
	down             error
	hash             string
}

func (s *apiServer) Paths() (map[string]openapi.GroupVersion, error) {
	s.paths++
	if s.down != nil {
		return nil, s.down
	}
	paths, err := s.Client.Paths()
	for path, version := range paths {
		paths[path] = document{version, s}
	}
	return paths, err
}

type document struct {
	openapi.GroupVersion
	server *apiServer
}

func (d document) Schema(contentType string) ([]byte, error) {
	d.server.documents++
	return d.GroupVersion.Schema(contentType)
}

func (d document) ServerRelativeURL() string {
	return d.GroupVersion.ServerRelativeURL() + d.server.hash
}

func TestSchemas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &apiServer{Client: openapitest.NewEmbeddedFileClient()}
		s := newSchemas(server)
		apps := schema.GroupVersion{Group: "apps", Version: "v1"}
		want := func(what string, version schema.GroupVersion, ok bool, paths, documents int) {
			t.Helper()
			known, err := s.of(t.Context(), version)
			if ok != (err == nil) || known != nil && ok == (known.converter == nil) {
				t.Errorf("%s: %v, %v", what, known, err)
			}
			if server.paths != paths || server.documents != documents {
				t.Errorf("%s: asked %d times for paths and %d for documents, want %d and %d", what, server.paths, server.documents, paths, documents)
			}
		}
		server.down = errors.New("down")
		want("down", apps, false, 1, 0)
		want("still", apps, false, 1, 0)
		server.down = nil
		time.Sleep(schemasRetry + time.Second)
		want("up", apps, true, 2, 1)
		want("known", apps, true, 2, 1)
		unknown := schema.GroupVersion{Group: "example.com", Version: "v1"}
		want("another", schema.GroupVersion{Version: "v1"}, true, 2, 2)
		time.Sleep(schemasRetry + time.Second)
		want("a kind that is not there", unknown, false, 3, 2)
		want("nor now", unknown, false, 3, 2)
		want("which does not hurt others", apps, true, 3, 2)
		time.Sleep(2 * schemasKept)
		want("the same as before", apps, true, 4, 2)
		server.hash = "?hash=2"
		time.Sleep(2 * schemasKept)
		want("another version", apps, true, 5, 3)
		server.down = errors.New("down")
		time.Sleep(2 * schemasKept)
		want("what is known stays", apps, true, 6, 3)
	})
}

// TestSchemasWait: who waits for another's request ends with its context.
func TestSchemasWait(t *testing.T) {
	s := newSchemas(&apiServer{Client: openapitest.NewEmbeddedFileClient()})
	s.turn <- struct{}{}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.of(ctx, schema.GroupVersion{Version: "v1"}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestSchemasOfTheNext: who gives up while asking does not keep others from the answer.
func TestSchemasOfTheNext(t *testing.T) {
	server := &apiServer{Client: openapitest.NewEmbeddedFileClient(), down: context.Canceled}
	s := newSchemas(server)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 10 { // of two open cases select takes any
		if _, err := s.of(ctx, schema.GroupVersion{Version: "v1"}); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
	server.down = nil
	if _, err := s.of(t.Context(), schema.GroupVersion{Group: "apps", Version: "v1"}); err != nil {
		t.Error(err)
	}
}
