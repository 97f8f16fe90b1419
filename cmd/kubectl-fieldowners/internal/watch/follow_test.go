package watch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"coapply.dev/cmd/kubectl-fieldowners/internal/console"
)

// watchServer answers lists and watches from scripts, one answer after another, and
// cancels the context where a script ends.
type watchServer struct {
	lists, watches []http.HandlerFunc
	end            context.CancelCauseFunc
	mu             sync.Mutex
}

func (s *watchServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	script := &s.lists
	if r.URL.Query().Has("watch") {
		script = &s.watches
	}
	s.mu.Lock()
	if len(*script) == 0 {
		s.mu.Unlock()
		s.end(context.DeadlineExceeded)
		<-r.Context().Done()
		return
	}
	answer := (*script)[0]
	*script = (*script)[1:]
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	answer(w, r)
}

// webObject is an object at a version whose .spec.replicas managers own: "a/Apply",
// or "a/Apply@60" with the second at which it wrote last.
func webObject(version int, owners ...string) map[string]any {
	var entries []any
	for _, owner := range owners {
		owner, second, timed := strings.Cut(owner, "@")
		name, operation, _ := strings.Cut(owner, "/")
		e := map[string]any{"manager": name, "operation": operation, "apiVersion": "apps/v1", "fieldsType": "FieldsV1",
			"fieldsV1": map[string]any{"f:spec": map[string]any{"f:replicas": map[string]any{}}}}
		if timed {
			seconds, err := time.ParseDuration(second + "s")
			if err != nil {
				panic(err)
			}
			e["time"] = time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC).Add(seconds).Format(time.RFC3339)
		}
		if name == "broken" {
			e["fieldsV1"] = map[string]any{"x": 1}
		}
		entries = append(entries, e)
	}
	return map[string]any{"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": map[string]any{
		"name": "web", "namespace": "shop", "uid": "u1", "resourceVersion": fmt.Sprint(version), "managedFields": entries,
	}}
}

func listOf(objects ...map[string]any) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1",
			"metadata": map[string]any{"resourceVersion": "100"}, "items": objects})
	}
}

// firstPage says that there is more.
func firstPage(object map[string]any) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1",
			"metadata": map[string]any{"resourceVersion": "90", "continue": "more"}, "items": []any{object}})
	}
}

func eventsOf(objects ...map[string]any) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for _, o := range objects {
			_ = json.NewEncoder(w).Encode(map[string]any{"type": "MODIFIED", "object": o})
		}
	}
}

func fails(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		reason := map[int]string{401: "Unauthorized", 405: "MethodNotAllowed", 403: "Forbidden", 410: "Expired", 503: "ServiceUnavailable"}[code]
		_ = json.NewEncoder(w).Encode(map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason, "message": reason})
	}
}

// moving is web going from owner to owner, one each so many seconds.
func moving(every int, owners ...string) []map[string]any {
	var all []map[string]any
	for i, owner := range owners {
		all = append(all, webObject(101+i, fmt.Sprintf("%s@%d", owner, (i+1)*every)))
	}
	return all
}

func TestWatchFollows(t *testing.T) {
	first := listOf(webObject(100, "a/Apply@0"))
	back := []string{"b/Apply", "a/Apply", "b/Apply", "a/Apply"}
	type script = []http.HandlerFunc
	for _, test := range []struct {
		reason         string
		lists, watches script
		want, wantErr  string // parts of stdout and stderr, stdout's lines separated by |
		failure        string // "" is the end of the time
		result         error
	}{
		{reason: "a move", lists: script{first}, watches: script{eventsOf(moving(1, "b/Apply")...)},
			want: "03:00:01Z Deployment shop/web .spec.replicas: a/Apply -> b/Apply"},
		{reason: "a fight", lists: script{first}, watches: script{eventsOf(moving(1, back...)...)},
			want:   "|FIGHT Deployment shop/web .spec.replicas: a/Apply and b/Apply took the field from each other 4 times in a minute, since 2026-01-02T03:00:01Z",
			result: console.ErrFound},
		{reason: "as many moves in more time, all seen at once after an outage", lists: script{first}, watches: script{eventsOf(moving(60, back...)...)},
			want: "03:04:00Z Deployment shop/web .spec.replicas: b/Apply -> a/Apply"},
		{reason: "the watch continues where it was", lists: script{first},
			watches: script{eventsOf(moving(1, "b/Apply")...), func(w http.ResponseWriter, r *http.Request) {
				if got := r.URL.Query().Get("resourceVersion"); got != "101" {
					fails(400)(w, r)
					return
				}
				eventsOf(webObject(102, "c/Apply@2"))(w, r)
			}},
			want: "a/Apply -> b/Apply|b/Apply -> c/Apply"},
		{reason: "a page that comes too late for the first", lists: script{firstPage(webObject(90, "z/Apply")), fails(410), first},
			watches: script{eventsOf(moving(1, "b/Apply")...)}, want: "a/Apply -> b/Apply"},
		{reason: "gone, and gone again while listing", lists: script{first, fails(410), listOf(webObject(200, "c/Apply@9"))}, watches: script{fails(410)},
			want: "03:00:09Z Deployment shop/web .spec.replicas: a/Apply -> c/Apply (all changes of the interruption combined)", wantErr: "after resourceVersion 100 ("},
		{reason: "gone, and no server to list from", lists: script{first, fails(503), listOf(webObject(200, "c/Apply@9"))}, watches: script{fails(410)},
			want: "a/Apply -> c/Apply (all changes", wantErr: "the watch continues"},
		{reason: "gone, and no right to list any more", lists: script{first, fails(403)}, watches: script{fails(410)}, failure: "Forbidden"},
		{reason: "a credential that is renewed", lists: script{first}, watches: script{fails(401), eventsOf(moving(1, "b/Apply")...)},
			want: "a/Apply -> b/Apply"},
		{reason: "a credential that is not", lists: script{first}, watches: script{fails(401), fails(401)}, failure: "Unauthorized"},
		{reason: "no right to watch", lists: script{first}, watches: script{fails(403)}, failure: "Forbidden"},
		{reason: "a type that cannot be watched", lists: script{first}, watches: script{fails(405)}, failure: "MethodNotAllowed"},
		{reason: "no list", lists: script{fails(403)}, failure: "Forbidden"},
		{reason: "no list in time", wantErr: "error: deployments.apps: no change was seen: --timeout expired before the objects were listed", result: console.ErrSaid},
		{reason: "not connected at the end", lists: script{first}, watches: script{fails(503)},
			wantErr: "error: deployments.apps: the watch was still interrupted at the end, so changes may be missing: ", result: console.ErrSaid},
		{reason: "an entry that cannot be read: the others are shown", lists: script{first},
			watches: script{eventsOf(webObject(101, "broken/Update", "b/Apply@1"), webObject(102, "broken/Update", "c/Apply@2"))},
			want:    "a/Apply -> b/Apply|b/Apply -> c/Apply", wantErr: `error: Deployment shop/web: managedFields[0] (manager "broken"): `, result: console.ErrSaid},
	} {
		t.Run(test.reason, func(t *testing.T) {
			s := &watchServer{lists: test.lists, watches: test.watches}
			out, errOut, err, result := followOnce(t, s)
			if test.failure == "" && !errors.Is(err, context.DeadlineExceeded) || test.failure != "" && !strings.Contains(fmt.Sprint(err), test.failure) {
				t.Errorf("it ended with %v, want %q", err, test.failure)
			}
			if test.failure == "" && !errors.Is(result, test.result) {
				t.Errorf("the result is %v, want %v", result, test.result)
			}
			for part := range strings.SplitSeq(test.want, "|") {
				if !strings.Contains(out, part) {
					t.Errorf("stdout does not say %q:\n%s", part, out)
				}
			}
			if strings.Count(errOut, test.wantErr) != 1 && test.wantErr != "" {
				t.Errorf("stderr does not say once %q:\n%s", test.wantErr, errOut)
			}
			if strings.Contains(out, "FIGHT") != errors.Is(test.result, console.ErrFound) {
				t.Errorf("a fight, or none:\n%s", out)
			}
		})
	}
}

// followOnce follows until the script ends, and checks that no goroutine is left.
func followOnce(t *testing.T, s *watchServer) (stdout, stderr string, err, result error) {
	t.Helper()
	leaked := goleak.IgnoreCurrent()
	server := httptest.NewServer(s)
	config := &rest.Config{Host: server.URL}
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	client, err := metadata.NewForConfigAndClient(config, httpClient)
	if err != nil {
		t.Fatal(err)
	}
	var out, errOut bytes.Buffer
	report, err := newReporter(3, &out, &errOut)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	s.end = cancel
	err = follow(ctx, client, []Target{{
		Resource: schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"},
		Kind:     schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"},
	}}, report)
	cancel(nil)
	result = report.result()
	server.Close()
	httpClient.CloseIdleConnections()
	goleak.VerifyNone(t, leaked)
	return out.String(), errOut.String(), err, result
}
