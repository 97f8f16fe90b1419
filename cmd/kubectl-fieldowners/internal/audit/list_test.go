package audit

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"coapply.dev/cmd/kubectl-fieldowners/internal/objects"
)

// faulty answers some paths itself, and leaves the others to a corpus.
type faulty struct {
	pages

	answers map[string]func(w http.ResponseWriter, r *http.Request) (done bool)
}

func (f faulty) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if answer := f.answers[r.URL.Path]; answer != nil && answer(w, r) {
		return
	}
	f.pages.ServeHTTP(w, r)
}

func status(code int, text string) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_, _ = w.Write([]byte(text))
		return true
	}
}

const (
	podsForbidden = `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","reason":"Forbidden","code":403,` +
		`"message":"pods is forbidden: User \"eve\" cannot list resource \"pods\""}`
	tooOld = `{"kind":"Status","apiVersion":"v1","metadata":{"continue":"1000"},"status":"Failure","reason":"Expired","code":410,"message":"too old"}`
)

func TestAuditAnswers(t *testing.T) {
	served := writePages(t, corpus{objects: 4 * objects.PageSize, shapes: 1})
	for _, test := range []struct {
		reason string
		path   string
		answer func(http.ResponseWriter, *http.Request) bool
		args   string
		code   int
		stdout string // a part of it
		stderr string
	}{
		{
			reason: "nothing is wrong but what Lint finds", args: "-A -o json",
			code: 1, stdout: `"complete": true`,
		},
		{
			reason: "one kind is forbidden, the other counts", args: "-A -o json",
			path: "/api/v1/pods", answer: status(403, podsForbidden),
			code: 2, stdout: `"objects": 1000`, stderr: `error: pods: pods is forbidden: User "eve" cannot list`,
		},
		{
			reason: "a token that has expired, and the server offers another", args: "pods -A -o json",
			path: "/api/v1/pods", answer: func(w http.ResponseWriter, r *http.Request) bool {
				if r.URL.Query().Get("continue") != "500" {
					return false
				}
				return status(410, strings.Replace(tooOld, "1000", "0500", 1))(w, r)
			},
			code: 0, stdout: `"snapshot": false`, stderr: "pods: the list is not a consistent snapshot",
		},
		{
			reason: "a token that has expired for good", args: "pods -A -o json",
			path: "/api/v1/pods", answer: func(w http.ResponseWriter, r *http.Request) bool {
				return r.URL.Query().Get("continue") != "" && status(410, strings.Replace(tooOld, `"continue":"1000"`, "", 1))(w, r)
			},
			code: 2, stdout: `"objects": 500`, stderr: "error: pods: too old",
		},
		{
			reason: "nothing but metadata is asked for", args: "pods -A -o json",
			path: "/api/v1/pods", answer: func(w http.ResponseWriter, r *http.Request) bool {
				for accepted := range strings.SplitSeq(r.Header.Get("Accept"), ",") {
					if !strings.Contains(accepted, ";as=PartialObjectMetadataList;") {
						return status(500, accepted)(w, r)
					}
				}
				return false
			},
			code: 0, stdout: `"complete": true`,
		},
		{
			reason: "an answer that breaks off", args: "pods -A",
			path: "/api/v1/pods", answer: status(200, `{"kind":"PartialObjectMetadataList","items":[{"metadata":{"name":"a"}}`),
			code: 2, stderr: "error: pods: couldn't get version/kind; json parse error",
		},
		{
			reason: "an empty list", args: "pods -A",
			path: "/api/v1/pods", answer: status(200, `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{},"items":null}`),
			code: 0, stderr: "No objects found.",
		},
		{reason: "an unknown kind", args: "spaceships", code: 2, stderr: `error: the server doesn't have a resource type "spaceships"`},
		{reason: "both kinds by other names", args: "deploy,Pod -A -o json", code: 1, stdout: `"objects": 2000`},
		{
			reason: "no server", args: "-A --request-timeout 1s --server https://127.0.0.1:1",
			code: 2, stderr: "The connection to the server 127.0.0.1:1 was refused",
		},
	} {
		t.Run(test.reason, func(t *testing.T) {
			answers := map[string]func(http.ResponseWriter, *http.Request) bool{test.path: test.answer}
			code, stdout, stderr := auditOf(context.Background(), t, faulty{served, answers}, strings.Fields(test.args)...)
			if code != test.code || !strings.Contains(stdout, test.stdout) || !strings.Contains(stderr, test.stderr) || strings.Contains(stderr, "goroutine") {
				t.Errorf("exit code %d, want %d; stderr %q, want %q; stdout %.200q, want %q", code, test.code, stderr, test.stderr, stdout, test.stdout)
			}
		})
	}
}

// TestAuditInterrupted ends an audit in the middle of a list.
func TestAuditInterrupted(t *testing.T) {
	served := writePages(t, corpus{objects: 4 * objects.PageSize, shapes: 1})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	interrupt := func(_ http.ResponseWriter, r *http.Request) bool {
		if r.URL.Query().Get("continue") != "" {
			cancel()
			<-r.Context().Done()
			return true
		}
		return false
	}
	answers := map[string]func(http.ResponseWriter, *http.Request) bool{"/api/v1/pods": interrupt}
	code, stdout, stderr := auditOf(ctx, t, faulty{served, answers}, "pods", "-A", "-o", "json")
	if code != 130 || !strings.Contains(stdout, `"complete": false`) || !strings.Contains(stdout, `"objects": 500`) || !strings.Contains(stderr, "interrupted") {
		t.Errorf("exit code %d, stderr %q, stdout %.200q", code, stderr, stdout)
	}
}
