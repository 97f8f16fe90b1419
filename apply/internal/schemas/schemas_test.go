package schemas

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/openapi"
	"k8s.io/client-go/openapi/openapitest"
)

// apiServer counts what is asked of it. It can be down, hang, be slow, or have another version.
type apiServer struct {
	openapi.Client
	paths, documents int
	down             error
	hangs            map[string]bool // by path, the index by ""
	hash             string
	slow             time.Duration                  // before a document comes
	gone             string                         // a path that the index does not have
	answer           func(d served) ([]byte, error) // instead of documents
}

// hang answers like a server that does not: with the end of the context.
func (s *apiServer) hang(ctx context.Context, path string) error {
	if !s.hangs[path] {
		return nil
	}
	<-ctx.Done()
	return ctx.Err()
}

func (s *apiServer) PathsWithContext(ctx context.Context) (map[string]openapi.GroupVersionWithContext, error) {
	s.paths++
	if err := errors.Join(s.down, s.hang(ctx, "")); err != nil {
		return nil, err
	}
	paths, err := s.Paths()
	found := map[string]openapi.GroupVersionWithContext{}
	for path, version := range paths {
		if path == s.gone {
			continue
		}
		found[path] = served{version, s, path, s.hash}
	}
	return found, err
}

type served struct {
	openapi.GroupVersion
	server     *apiServer
	path, hash string
}

func (d served) SchemaWithContext(ctx context.Context, contentType string) ([]byte, error) {
	d.server.documents++
	if err := d.server.hang(ctx, d.path); err != nil {
		return nil, err
	}
	time.Sleep(d.server.slow)
	if d.server.answer != nil {
		return d.server.answer(d)
	}
	return d.Schema(contentType)
}

func (d served) ServerRelativeURL() string { return d.GroupVersion.ServerRelativeURL() + d.hash }

// asking calls of, and says how long it took.
type asking struct {
	*testing.T
	*Set
	server *apiServer
	log    []string
}

func newAsking(t *testing.T) *asking {
	server := &apiServer{Client: openapitest.NewEmbeddedFileClient(), hangs: map[string]bool{}}
	return &asking{T: t, Set: New(server), server: server}
}

var batchv1 = schema.GroupVersion{Group: "batch", Version: "v1"}

// want asks once, and compares how long the caller waited and what was asked of the
// server in all.
func (a *asking) want(what string, version schema.GroupVersion, ok bool, waits time.Duration, paths, documents int) {
	a.Helper()
	ctx := logr.NewContext(a.Context(), funcr.New(func(_, text string) { a.log = append(a.log, text) }, funcr.Options{}))
	_, named := a.paths[pathOf(version)]
	named = named || a.paths == nil
	start := time.Now()
	known, err := a.Of(ctx, version)
	if waited := time.Since(start); waited != waits {
		a.Errorf("%s: it waited for %v, want %v", what, waited, waits)
	}
	if ok != (err == nil) || ok != (known != nil && known.Converter != nil) || !ok && strings.HasPrefix(err.Error(), "getting") != named {
		a.Errorf("%s: %v, %v", what, known, err)
	}
	synctest.Wait() // what is asked in the background
	if a.server.paths != paths || a.server.documents != documents {
		a.Errorf("%s: asked %d times for the index and %d for documents, want %d and %d",
			what, a.server.paths, a.server.documents, paths, documents)
	}
}

// TestSchemas is the life of what is known, on a server that answers at once.
func TestSchemas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAsking(t)
		a.server.down = errors.New("down")
		a.want("down", appsv1.SchemeGroupVersion, false, 0, 1, 0)
		a.want("still", appsv1.SchemeGroupVersion, false, 0, 1, 0)
		a.server.down = nil
		time.Sleep(2 * time.Second)
		a.want("up: nobody waits for what could not be had", appsv1.SchemeGroupVersion, false, 0, 2, 0)
		a.want("the document is another question", appsv1.SchemeGroupVersion, true, 0, 2, 1)
		a.want("known", appsv1.SchemeGroupVersion, true, 0, 2, 1)
		a.want("another", corev1.SchemeGroupVersion, true, 0, 2, 2)
		unknown := schema.GroupVersion{Group: "example.com", Version: "v1"}
		a.want("a kind that is not there", unknown, false, 0, 2, 2)
		time.Sleep(schemasRetry + time.Second)
		a.want("the index may have it now", unknown, false, 0, 3, 2)
		a.want("nor now", unknown, false, 0, 3, 2)
		a.want("which does not hurt others", appsv1.SchemeGroupVersion, true, 0, 3, 2)
		known, _ := a.Of(t.Context(), appsv1.SchemeGroupVersion)
		time.Sleep(schemasRetry + time.Second)
		if !a.Good(t.Context(), known, time.Now()) {
			t.Error("what is known is not trusted")
		}
		time.Sleep(2 * schemasKept)
		a.want("the same as before", appsv1.SchemeGroupVersion, true, 0, 4, 2)
		a.server.hash = "?hash=2"
		time.Sleep(2 * schemasKept)
		if !a.Good(t.Context(), known, time.Now()) {
			t.Error("it was replaced before the server said so")
		}
		synctest.Wait()
		if a.Good(t.Context(), known, time.Now()) {
			t.Error("what was proven by the former version is trusted")
		}
		a.want("another version", appsv1.SchemeGroupVersion, true, 0, 5, 3)
		known, _ = a.Of(t.Context(), appsv1.SchemeGroupVersion)
		a.server.down = errors.New("down")
		for range 3 {
			time.Sleep(2 * schemasKept)
			a.want("what is known stays", appsv1.SchemeGroupVersion, true, 0, a.server.paths+1, 3)
			if !a.Good(t.Context(), known, time.Now()) {
				t.Error("what was proven by what is known is not trusted")
			}
		}
		if log := strings.Join(a.log, "\n"); strings.Count(log, "known schemas are still used") != 2 || len(a.log) != 2 {
			t.Errorf("two outages, told of once each: %s", log)
		}
	})
}

// TestSchemasHangingIndex: it holds up its callers for a second in all, and nothing that
// is known.
func TestSchemasHangingIndex(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAsking(t)
		a.server.hangs[""] = true
		a.want("the first", appsv1.SchemeGroupVersion, false, inquiryPatience, 1, 0)
		for range 10 {
			a.want("the others while it hangs", batchv1, false, 0, 1, 0)
		}
		time.Sleep(inquiryTimeout + time.Second) // the end of the request, and the back-off after it
		a.want("at once again", appsv1.SchemeGroupVersion, false, 0, 2, 0)
		a.server.hangs[""] = false
		time.Sleep(inquiryTimeout + 4*time.Second)
		a.want("it answers to the next", appsv1.SchemeGroupVersion, false, 0, 3, 0)
		a.want("and all is well", appsv1.SchemeGroupVersion, true, 0, 3, 1)
		a.server.hangs[""] = true
		time.Sleep(2 * schemasKept)
		a.want("what is known does not wait", appsv1.SchemeGroupVersion, true, 0, 4, 1)
		a.want("nor what is new, in an index that is", batchv1, true, 0, 4, 2)
		time.Sleep(inquiryTimeout)
	})
}

// TestSchemasHangingGroup: one document that does not come holds up its own kinds, once.
func TestSchemasHangingGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAsking(t)
		a.server.hangs["apis/batch/v1"] = true
		a.want("the first of the group", batchv1, false, inquiryPatience, 1, 1)
		for range 10 {
			a.want("the others of the group", batchv1, false, 0, 1, 1)
		}
		a.want("another group", appsv1.SchemeGroupVersion, true, 0, 1, 2)
		time.Sleep(inquiryTimeout)
		before := a.server.documents
		for range 60 { // as appliers under load do
			a.want("another group", appsv1.SchemeGroupVersion, true, 0, a.server.paths, a.server.documents)
			start := time.Now()
			if _, err := a.Of(t.Context(), batchv1); err == nil || time.Since(start) > 0 {
				t.Errorf("after %v: %v", time.Since(start), err)
			}
			time.Sleep(time.Second)
			synctest.Wait()
		}
		if asked := a.server.documents - before; asked < 2 || asked > 6 {
			t.Errorf("the document that hangs was asked for %d times in a minute", asked)
		}
		a.server.hangs["apis/batch/v1"] = false
		time.Sleep(5 * time.Minute)
		_, _ = a.Of(t.Context(), batchv1) // asks
		synctest.Wait()
		a.want("it has come", batchv1, true, 0, a.server.paths, a.server.documents)
		if log := strings.Join(a.log, "\n"); len(a.log) != 1 || !strings.Contains(log, `"groupVersion"="batch/v1"`) {
			t.Errorf("told of once: %s", log)
		}
	})
}

// TestInquiryBackOff begins when a request has ended, not when it began.
func TestInquiryBackOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAsking(t)
		a.server.hangs[""] = true
		for n := 1; n <= 20; n++ {
			if ended := a.asks(); ended == nil || a.server.paths != n {
				t.Fatalf("request %d: %d were sent", n, a.server.paths)
			} else {
				<-ended
			}
			pause := a.pause()
			if least := min(time.Second<<(n-1), maxBackoff); pause < least || pause > least*3/2 {
				t.Errorf("after %d failures the next request may be %v after the end of the last", n, pause)
			}
			time.Sleep(pause - time.Nanosecond)
			if a.asks() != nil {
				t.Error("too early")
			}
			time.Sleep(time.Nanosecond)
		}
	})
}

// asks asks for the index, and gives what the request under way closes.
func (a *asking) asks() chan struct{} {
	a.mu.Lock()
	defer synctest.Wait()
	defer a.mu.Unlock()
	a.refresh(a.Context())
	return a.index.ended
}

func (a *asking) pause() time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	return time.Until(a.index.next)
}

// TestSchemasOfTheNext: who gives up while asking does not keep others from the answer.
func TestSchemasOfTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAsking(t)
		a.server.hangs[""] = true
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		start := time.Now()
		if _, err := a.Of(ctx, appsv1.SchemeGroupVersion); !errors.Is(err, errNotYet) || time.Since(start) != time.Millisecond {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		if ended := a.asks(); ended == nil || a.server.paths != 1 {
			t.Error("the request ended with the caller who happened to ask")
		}
		time.Sleep(inquiryTimeout)
	})
}

// TestSchemasPanic: what cannot be read is an error, and not the end of the process.
func TestSchemasPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAsking(t)
		a.server.Client = nil
		a.want("a client that panics", appsv1.SchemeGroupVersion, false, 0, 1, 0)
	})
}
