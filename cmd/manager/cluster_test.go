package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func writeKubeconfig(t *testing.T, server string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	content := fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: %q}}]
contexts: [{name: c, context: {cluster: c}}]
current-context: c
`, server)
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestKubeconfig(t *testing.T) {
	broken := filepath.Join(t.TempDir(), "broken")
	if err := os.WriteFile(broken, []byte("clusters: {\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ reason, flag, want string }{
		{"none anywhere", "", "no kubeconfig found"},
		{"no such file", "--kubeconfig=" + broken + "2", "there is no file"},
		{"no YAML", "--kubeconfig=" + broken, "reading the kubeconfig"},
		{"nothing in it", "--kubeconfig=" + empty, "names no cluster"},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			args := append([]string{"--leader-elect=false"}, noPorts...)
			if tt.flag != "" {
				args = append(args, tt.flag)
			}
			code, _, stderr := runManager(t, t.Context(), args...)
			if code != exitFailed {
				t.Errorf("exit code %d, want %d", code, exitFailed)
			}
			wantOneLine(t, stderr, tt.want)
		})
	}
}

// answer is what the stub API server says to METHOD PATH; the rest is not found.
type answer struct {
	code int
	body string
}

func status(code int, reason string) answer {
	return answer{code, fmt.Sprintf(
		`{"kind":"Status","apiVersion":"v1","status":"Failure","message":"told so","reason":%q,"code":%d}`, reason, code)}
}

func stubServer(t *testing.T, answers map[string]answer) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a, ok := answers[r.Method+" "+r.URL.Path]
		if !ok {
			a = status(http.StatusNotFound, "NotFound")
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(a.code)
		_, _ = w.Write([]byte(a.body))
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestClusterThatCannotServe(t *testing.T) {
	const (
		versionPath = "GET /version"
		kindsPath   = "GET /apis/platform.coapply.dev/v1alpha1"
		leasesPath  = "/apis/coordination.k8s.io/v1/namespaces/here/leases"
	)
	answers := answer{http.StatusOK, `{"gitVersion":"v1.36.3"}`}
	var resources []string
	for _, kind := range ourKinds(newScheme()) {
		resources = append(resources, fmt.Sprintf(`{"kind":%q}`, kind))
	}
	served := answer{http.StatusOK, fmt.Sprintf(`{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"platform.coapply.dev/v1alpha1",
		"resources":[%s]}`, strings.Join(resources, ","))}
	lease := answer{http.StatusOK, `{"kind":"Lease","apiVersion":"coordination.k8s.io/v1","metadata":{"name":"x"}}`}
	forbidden := status(http.StatusForbidden, "Forbidden")
	for _, tt := range []struct {
		reason  string
		answers map[string]answer
		want    []string
	}{
		{"wrong credentials", map[string]answer{versionPath: status(http.StatusUnauthorized, "Unauthorized")},
			[]string{"does not accept the credentials", "--kubeconfig"}},
		{"a web server", map[string]answer{versionPath: {http.StatusOK, "<html>"}}, []string{"not a Kubernetes API server"}},
		{"no CRDs", map[string]answer{versionPath: answers}, []string{"does not serve Devbox", "kubectl apply -k config/crd"}},
		{"other kinds in our group", map[string]answer{versionPath: answers, kindsPath: {http.StatusOK,
			`{"kind":"APIResourceList","apiVersion":"v1","resources":[]}`}}, []string{"does not serve Devbox"}},
		{"discovery is forbidden", map[string]answer{versionPath: answers, kindsPath: forbidden},
			[]string{"getting the kinds", "told so"}},
		{"the Lease may not be read", map[string]answer{versionPath: answers, kindsPath: served,
			"GET " + leasesPath + "/" + leaderElectionID: forbidden}, []string{"leader election", "told so", "config/rbac"}},
		{"the Lease may not be created", map[string]answer{versionPath: answers, kindsPath: served,
			"POST " + leasesPath: forbidden}, []string{"leader election", "told so", "config/rbac"}},
		{"the Lease may not be updated", map[string]answer{versionPath: answers, kindsPath: served,
			"GET " + leasesPath + "/" + leaderElectionID: lease,
			"PUT " + leasesPath + "/x":                   forbidden}, []string{"leader election", "told so", "config/rbac"}},
		{"no such namespace", map[string]answer{versionPath: answers, kindsPath: served}, []string{"there is no namespace here"}},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			kubeconfig := writeKubeconfig(t, stubServer(t, tt.answers))
			code, _, stderr := runManager(t, t.Context(),
				append(noPorts, "--leader-elect-namespace=here", "--kubeconfig="+kubeconfig)...)
			if code != exitFailed {
				t.Errorf("exit code %d, want %d", code, exitFailed)
			}
			wantOneLine(t, stderr, tt.want...)
		})
	}
}

func TestUnreachableServer(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close() // its port is closed now
	kubeconfig := writeKubeconfig(t, server.URL)
	code, _, stderr := runManager(t, t.Context(), append(noPorts, "--leader-elect=false", "--kubeconfig="+kubeconfig)...)
	if code != exitFailed {
		t.Errorf("exit code %d, want %d", code, exitFailed)
	}
	wantOneLine(t, stderr, "cannot reach the API server at "+server.URL, "connection refused", "check --kubeconfig")
	if strings.Count(stderr, server.URL) != 1 {
		t.Errorf("the URL is repeated: %s", stderr)
	}
}

// silentServer accepts connections and never responds. asked is called for each received request.
func silentServer(t *testing.T, asked func()) string {
	t.Helper()
	done := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked(); <-done }))
	t.Cleanup(func() { close(done); server.Close() })
	return server.URL
}

func TestSilentServerIsBounded(t *testing.T) {
	config, err := loadConfig(writeKubeconfig(t, silentServer(t, func() {})))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond) // less than checkTimeout
	defer cancel()
	err = checkCluster(ctx, config, newScheme(), "")
	if err == nil || !strings.Contains(err.Error(), "cannot reach the API server") {
		t.Errorf("got %v", err)
	}
}

func TestStoppedWhileChecking(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	kubeconfig := writeKubeconfig(t, silentServer(t, cancel))
	code, _, stderr := runManager(t, ctx, append(noPorts, "--leader-elect=false", "--kubeconfig="+kubeconfig)...)
	if code != exitOK || stderr != "" {
		t.Errorf("exit code %d, stderr %q, want a clean end", code, stderr)
	}
}
