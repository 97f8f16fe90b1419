package target

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// server is an API server that knows its version, and counts all writes.
type server struct {
	mu     sync.Mutex
	writes []string
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	switch {
	case r.URL.Path == "/version":
		fmt.Fprint(w, `{"gitVersion":"v1.99.0"}`)
	case r.URL.Path == "/api":
		fmt.Fprint(w, `{"kind":"APIVersions","versions":["v1"]}`)
	case r.URL.Path == "/apis":
		fmt.Fprint(w, `{"kind":"APIGroupList","apiVersion":"v1","groups":[]}`)
	case r.URL.Path == "/api/v1":
		fmt.Fprint(w, `{"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"namespaces","kind":"Namespace"}]}`)
	case r.Method == http.MethodGet:
		http.NotFound(w, r)
	default:
		s.mu.Lock()
		defer s.mu.Unlock()
		s.writes = append(s.writes, r.Method+" "+r.URL.Path)
		http.Error(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","code":403,"reason":"Forbidden","message":"no"}`, http.StatusForbidden)
	}
}

// kubeconfig writes one with contexts "a" and "b" of the server and "c" of none.
func kubeconfig(t *testing.T, url, current string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	content := fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: %q, clusters: [{name: x, cluster: {server: %q}}],
users: [{name: u, user: {token: secret}}], contexts: [{name: a, context: {cluster: x, user: u}},
{name: b, context: {cluster: x, user: u}}, {name: c, context: {cluster: gone, user: u}}]}`, current, url)
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func agree(string) (bool, error) { return true, nil }

func wantError(t *testing.T, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error; want one with %q", words)
		return
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("error %q; want %q in it", err, word)
		}
	}
	if strings.Contains(err.Error(), "secret") {
		t.Errorf("error %q has a token in it", err)
	}
}

func TestConnectNeedsAContext(t *testing.T) {
	s := &server{}
	api := httptest.NewServer(s)
	defer api.Close()
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		options Options
		words   []string
	}{
		{Options{Kubeconfig: "/no/such/file"}, []string{"reading the kubeconfig: ", "/no/such/file"}},
		{Options{Kubeconfig: empty}, []string{"reading the kubeconfig: invalid configuration"}},
		{Options{Kubeconfig: kubeconfig(t, api.URL, "")}, []string{"reading the kubeconfig: invalid configuration"}},
		{Options{Kubeconfig: kubeconfig(t, api.URL, "a"), Context: "d"}, []string{"context was not found for specified context: d"}},
		{Options{Kubeconfig: kubeconfig(t, api.URL, "a"), Context: "c"}, []string{"reading the kubeconfig: invalid configuration"}},
		{Options{Kubeconfig: kubeconfig(t, "http://127.0.0.1:1", "a")}, []string{"no response from the API server http://127.0.0.1:1"}},
	} {
		_, err := Connect(t.Context(), test.options, agree)
		wantError(t, err, test.words...)
	}
	if len(s.writes) > 0 {
		t.Errorf("written: %q", s.writes)
	}
}

func TestConnectWithoutKubeconfigIsNotThePod(t *testing.T) {
	t.Setenv("KUBECONFIG", "/no/such/file")
	t.Setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
	t.Setenv("KUBERNETES_SERVICE_PORT", "443")
	_, err := Connect(t.Context(), Options{}, agree)
	wantError(t, err, "reading the kubeconfig: invalid configuration")
}

func TestConnectWritesNothingUnlessAgreed(t *testing.T) {
	broken := errors.New("no terminal")
	for _, test := range []struct {
		confirm func(string) (bool, error)
		want    error
	}{
		{func(string) (bool, error) { return false, nil }, ErrDeclined},
		{func(string) (bool, error) { return true, broken }, broken},
	} {
		s := &server{}
		api := httptest.NewServer(s)
		_, err := Connect(t.Context(), Options{Kubeconfig: kubeconfig(t, api.URL, "a"), Log: io.Discard}, test.confirm)
		if !errors.Is(err, test.want) {
			t.Errorf("error %v; want %v", err, test.want)
		}
		if len(s.writes) > 0 {
			t.Errorf("written: %q", s.writes)
		}
		api.Close()
	}
}

func TestConnectAsksWithAllThatMatters(t *testing.T) {
	s := &server{}
	api := httptest.NewServer(s)
	defer api.Close()
	var question string
	_, err := Connect(t.Context(), Options{Kubeconfig: kubeconfig(t, api.URL, "a"), Context: "b", Log: io.Discard}, func(text string) (bool, error) {
		question = text
		return true, nil
	})
	for _, word := range []string{api.URL, "namespace compare-"} {
		if !strings.Contains(question, word) {
			t.Errorf("question %q; want %q in it", question, word)
		}
	}
	// Agreed: it tries, is refused, and has nothing to clean up.
	wantError(t, err, "preparing the benchmark: creating *v1.Namespace", "compare-")
	if len(s.writes) != 1 {
		t.Errorf("written: %q; want the namespace and no more", s.writes)
	}
}
