package applytest_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"coapply.dev/apply/applytest"
)

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// answering returns one answer to every request.
func answering(code int, body io.Reader) roundTripper {
	return func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: code, Header: http.Header{}, Body: io.NopCloser(body), Request: r}, nil
	}
}

func request(t testing.TB, method, url, contentType, body string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, "https://server"+url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", contentType)
	return r
}

func TestRequestsAreDescribed(t *testing.T) {
	const apply, merge = "application/apply-patch+yaml", "application/merge-patch+json"
	type r = applytest.Request
	for _, tc := range []struct {
		reason, method, url, contentType, body string
		want                                   r
	}{
		{"", "GET", "/api/v1/namespaces/shop/pods/p", "", "", r{Verb: "get", Resource: "pods", Namespace: "shop", Name: "p"}},
		{"", "GET", "/api/v1/namespaces/shop/pods/p/log", "", "", r{Verb: "get", Resource: "pods", Namespace: "shop", Name: "p", Subresource: "log"}},
		{"", "GET", "/apis/apps/v1/namespaces/shop/deployments", "", "", r{Verb: "list", Resource: "deployments.apps", Namespace: "shop"}},
		{"all namespaces", "GET", "/apis/apps/v1/deployments", "", "", r{Verb: "list", Resource: "deployments.apps"}},
		{"", "GET", "/apis/apps/v1/deployments?watch=true", "", "", r{Verb: "watch", Resource: "deployments.apps"}},
		{"some clients write 1", "GET", "/api/v1/pods?watch=1", "", "", r{Verb: "watch", Resource: "pods"}},
		{"a namespace itself", "GET", "/api/v1/namespaces/shop", "", "", r{Verb: "get", Resource: "namespaces", Name: "shop"}},
		{"of a namespace itself", "PUT", "/api/v1/namespaces/shop/finalize", "", "", r{Verb: "update", Resource: "namespaces", Name: "shop", Subresource: "finalize"}},
		{"", "POST", "/api/v1/namespaces/shop/pods/p/eviction", "", "", r{Verb: "create", Resource: "pods", Namespace: "shop", Name: "p", Subresource: "eviction"}},
		{"", "PATCH", "/api/v1/namespaces/shop/pods/p?fieldManager=m", merge, "", r{Verb: "patch", Resource: "pods", Namespace: "shop", Name: "p", FieldManager: "m"}},
		{
			"", "PATCH", "/api/v1/namespaces/shop/pods/p/status?fieldManager=m&force=true&dryRun=All", apply, "",
			r{Verb: "apply", Resource: "pods", Namespace: "shop", Name: "p", Subresource: "status", FieldManager: "m", Forced: true, DryRun: true},
		},
		{"not forced", "PATCH", "/api/v1/nodes/n?force=false", apply, "", r{Verb: "apply", Resource: "nodes", Name: "n"}},
		{"", "DELETE", "/api/v1/nodes/n", "", "", r{Verb: "delete", Resource: "nodes", Name: "n"}},
		{"in the body", "DELETE", "/api/v1/nodes/n", "", `{"dryRun":["All"]}`, r{Verb: "delete", Resource: "nodes", Name: "n", DryRun: true}},
		{"a body of no known form", "DELETE", "/api/v1/nodes/n", "", "k8s\x00?", r{Verb: "delete", Resource: "nodes", Name: "n"}},
		{"", "DELETE", "/api/v1/nodes", "", "", r{Verb: "deletecollection", Resource: "nodes"}},
		{"a server below a path", "GET", "/k8s/clusters/c-1/api/v1/nodes/n", "", "", r{Verb: "get", Resource: "nodes", Name: "n"}},
		{"discovery", "GET", "/apis/apps/v1", "", "", r{Verb: "other"}},
		{"discovery", "GET", "/api", "", "", r{Verb: "other"}},
		{"discovery", "GET", "/apis", "", "", r{Verb: "other"}},
		{"no namespace", "GET", "/api/v1/nodes/n/proxy", "", "", r{Verb: "get", Resource: "nodes", Name: "n", Subresource: "proxy"}},
		{"of a namespace itself", "PUT", "/api/v1/namespaces/shop/status", "", "", r{Verb: "update", Resource: "namespaces", Name: "shop", Subresource: "status"}},
		{"in the body", "DELETE", "/api/v1/nodes/n", "", protobuf(t, metav1.DryRunAll), r{Verb: "delete", Resource: "nodes", Name: "n", DryRun: true}},
		{"in the body", "DELETE", "/api/v1/nodes/n", "", protobuf(t), r{Verb: "delete", Resource: "nodes", Name: "n"}},
		{"no resource", "GET", "/version", "", "", r{Verb: "other"}},
		{"no such method", "OPTIONS", "/api/v1/nodes/n", "", "", r{Verb: "other", Resource: "nodes", Name: "n"}},
	} {
		recorder := applytest.NewRecorder()
		sent := request(t, tc.method, tc.url, tc.contentType, tc.body)
		response, err := recorder.Wrap(answering(http.StatusOK, sent.Body)).RoundTrip(sent)
		if err != nil {
			t.Fatal(err)
		}
		tc.want.Class = applytest.ClassSuccess
		if diff := cmp.Diff([]r{tc.want}, recorder.Requests()); diff != "" {
			t.Errorf("%s %s %s (-want +got):\n%s", tc.reason, tc.method, tc.url, diff)
		}
		if body, err := io.ReadAll(response.Body); err != nil || string(body) != tc.body {
			t.Errorf("%s %s: the server got the body %q, %v", tc.method, tc.url, body, err)
		}
	}
}

// TestFailuresAreClassed leaves what was read of a failure to be read again.
func TestFailuresAreClassed(t *testing.T) {
	broken := errors.New("broken off")
	status := func(rest string) string { return `{"kind":"Status","apiVersion":"v1","status":"Failure",` + rest + `}` }
	for _, tc := range []struct {
		reason string
		code   int
		body   string
		fails  error // of reading the body
		want   applytest.Class
	}{
		{"two kinds of 409", 409, status(`"reason":"Conflict","code":409`), nil, applytest.ClassStaleWrite},
		{"two kinds of 409", 409, status(`"reason":"Conflict","code":409,"details":{"causes":[{"reason":"FieldManagerConflict"}]}`), nil, applytest.ClassConflict},
		{"", 422, status(`"reason":"Invalid","code":422,"details":{"causes":[{"field":"metadata.uid"}]}`), nil, applytest.ClassUIDMismatch},
		{"", 422, status(`"reason":"Invalid","code":422`), nil, applytest.ClassRefused},
		{"an unknown field", 500, status(`"code":500,"message":"failed to create typed patch object (ns/n; v1, Kind=Node): .spec.x: field not declared in schema"`), nil, applytest.ClassRefused},
		{"etcd is dying", 500, status(`"code":500,"message":"rpc error: code = Unavailable desc = EOF"`), nil, applytest.ClassRetryable},
		{"a webhook", 500, status(`"reason":"InternalError","code":500`), nil, applytest.ClassRetryable},
		{"", 404, status(`"reason":"NotFound","code":404`), nil, applytest.ClassNotFound},
		{"a proxy", 502, "<html>bad gateway", nil, applytest.ClassRetryable},
		{"a proxy", 403, "<html>no", nil, applytest.ClassRefused},
		{"a proxy", 400, "<html>what?", nil, applytest.ClassRefused},
		{"a Status of nothing", 404, "{}", nil, applytest.ClassNotFound},
		{"no Status", 404, `{"kind":"DeleteOptions","apiVersion":"v1"}`, nil, applytest.ClassNotFound},
		{"the end is missing", 409, `{"kind":"Stat`, broken, applytest.ClassStaleWrite},
		{"more than is looked at", 503, strings.Repeat("x", 3<<20), nil, applytest.ClassRetryable},
	} {
		recorder := applytest.NewRecorder()
		body := io.Reader(strings.NewReader(tc.body))
		if tc.fails != nil {
			body = io.MultiReader(body, &failsOnce{tc.fails})
		}
		response, err := recorder.Wrap(answering(tc.code, body)).RoundTrip(request(t, "PATCH", "/api/v1/nodes/n", "", ""))
		if err != nil {
			t.Fatal(err)
		}
		if got := recorder.Requests()[0].Class; got != tc.want {
			t.Errorf("%d %s: %s, want %s", tc.code, tc.reason, got, tc.want)
		}
		if left, err := io.ReadAll(response.Body); string(left) != tc.body || !errors.Is(err, tc.fails) {
			t.Errorf("%d %s: %d bytes and %v left to read, want %d and %v", tc.code, tc.reason, len(left), err, len(tc.body), tc.fails)
		}
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// failsOnce ends after its error, as if nothing had been.
type failsOnce struct{ err error }

func (f *failsOnce) Read([]byte) (int, error) {
	err := f.err
	f.err = io.EOF
	return 0, err
}

// A watch streams on: nothing of a success is read.
func TestSuccessIsNotRead(t *testing.T) {
	transport := applytest.NewRecorder().Wrap(answering(http.StatusOK, failing{errors.New("read too early")}))
	if _, err := transport.RoundTrip(request(t, "GET", "/api/v1/pods?watch=true", "", "")); err != nil {
		t.Error(err)
	}
}

func TestNoAnswer(t *testing.T) {
	recorder := applytest.NewRecorder()
	reset := roundTripper(func(*http.Request) (*http.Response, error) { return nil, io.ErrUnexpectedEOF })
	transport := recorder.Wrap(reset)
	if _, err := transport.RoundTrip(request(t, "GET", "/api/v1/pods", "", "")); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, _ = transport.RoundTrip(request(t, "GET", "/api/v1/pods", "", "").WithContext(ended)) // is not sent
	if got := recorder.Count(applytest.Request{Class: applytest.ClassNoAnswer}); got != 1 || len(recorder.Requests()) != 1 {
		t.Errorf("want one request without an answer:\n%v", recorder)
	}
}

func TestTransportBelowIsFound(t *testing.T) {
	below := roundTripper(nil)
	wrapper, ok := applytest.NewRecorder().Wrap(below).(utilnet.RoundTripperWrapper)
	if !ok || wrapper.WrappedRoundTripper() == nil {
		t.Error("client-go cannot find the transport below")
	}
}

// protobuf returns the options of a deletion as client-go encodes them.
func protobuf(t *testing.T, dryRun ...string) string {
	t.Helper()
	options, err := (&metav1.DeleteOptions{DryRun: dryRun}).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	wrapped, err := (&runtime.Unknown{Raw: options}).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return "k8s\x00" + string(wrapped)
}

// TestBodiesOfDeletions: a copy of the body is read, and closed; where there is none, the
// deletion is recorded all the same.
func TestBodiesOfDeletions(t *testing.T) {
	closed := 0
	for reason, body := range map[string]func() (io.ReadCloser, error){
		"none":   nil,
		"broken": func() (io.ReadCloser, error) { return nil, errors.New("no copy") },
		"a copy": func() (io.ReadCloser, error) { return closing{strings.NewReader("{}"), &closed}, nil },
	} {
		sent := request(t, "DELETE", "/api/v1/nodes/n", "", "")
		sent.GetBody = body
		recorder := applytest.NewRecorder()
		if _, err := recorder.Wrap(answering(http.StatusOK, sent.Body)).RoundTrip(sent); err != nil {
			t.Fatal(err)
		}
		if recorder.Count(applytest.Request{Verb: "delete", Name: "n"}) != 1 || recorder.Count(applytest.Request{DryRun: true}) != 0 {
			t.Errorf("%s: %v", reason, recorder)
		}
	}
	if closed != 1 {
		t.Errorf("the copy was closed %d times", closed)
	}
}

type closing struct {
	io.Reader

	closed *int
}

func (c closing) Close() error { *c.closed++; return nil }
