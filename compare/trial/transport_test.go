package trial

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"coapply.dev/compare/results"
)

const (
	stale    = `{"kind":"Status","reason":"Conflict","message":"the object has been modified"}`
	conflict = `{"kind":"Status","reason":"Conflict","details":{"causes":[{"reason":"FieldManagerConflict","field":".a"}]}}`
)

// answering serves each request with the status and body that its body names, as "409 text".
func answering(t *testing.T) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked, _ := io.ReadAll(r.Body)
		var code int
		_, _ = fmt.Sscan(string(asked), &code)
		if code == 0 {
			panic(http.ErrAbortHandler) // no answer
		}
		_, answer, _ := strings.Cut(string(asked), " ")
		w.WriteHeader(code)
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(server.Close)
	return server
}

// counted sends requests through the transport of a session, and gives the answers and what was counted.
func counted(t *testing.T, of *attempt, requests ...string) (answers []string, client results.Client) {
	t.Helper()
	server := answering(t)
	s, err := newSession(place{admin: &rest.Config{Host: server.URL}, user: &rest.Config{Host: server.URL}}, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	for _, line := range requests {
		method, body, _ := strings.Cut(line, " ")
		request, err := http.NewRequestWithContext(withAttempt(t.Context(), of), strings.TrimPrefix(method, "!"), server.URL, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(method, "!") {
			request.Header.Set("Content-Type", "application/apply-patch+yaml")
		}
		response, err := s.of("m").http.Do(request)
		if err != nil {
			answers = append(answers, "")
			continue
		}
		answer, err := io.ReadAll(response.Body)
		if err := errors.Join(err, response.Body.Close()); err != nil {
			t.Fatal(err)
		}
		answers = append(answers, string(answer))
	}
	client, _ = s.tally.result()
	return answers, client
}

func TestRequestsAreCounted(t *testing.T) {
	of := &attempt{}
	answers, client := counted(t, of, "GET 200 abc", "PUT 200 ab", "PUT 409 "+stale, "PATCH 409 "+stale, "!PATCH 409 "+conflict,
		"POST 409 "+stale, "DELETE 409 "+stale, "!PATCH 200 a", "PUT 429 b", "GET 0", "PUT 0", "PUT 504 x")
	wantAnswers := []string{"abc", "ab", stale, stale, conflict, stale, stale, "a", "b", "", "", "x"}
	if diff := cmp.Diff(wantAnswers, answers); diff != "" {
		t.Errorf("the client does not get what the server said (-want +got):\n%s", diff)
	}
	wantCounts := map[string]int{
		"GET 200": 1, "PUT 200": 1, "PUT 409": 1, "PATCH 409": 1, "APPLY 409": 1, "POST 409": 1, "DELETE 409": 1,
		"APPLY 200": 1, "PUT 429": 1, "GET none": 1, "PUT none": 1, "PUT 504": 1,
	}
	if diff := cmp.Diff(wantCounts, client.Requests); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if client.Conflicts != 1 || client.StaleWrites != 2 {
		t.Errorf("%d conflicts, %d stale writes; want 1, 2", client.Conflicts, client.StaleWrites)
	}
	if of.requests.Load() != 12 || of.open.Load() != 2 {
		t.Errorf("the intent had %d requests and %d open writes, want 12 and 2: PUT without an answer, PUT 504",
			of.requests.Load(), of.open.Load())
	}
	down := 0
	for _, answer := range wantAnswers {
		down += len(answer)
	}
	up := down + 4*10 // each request has its status before the text; those without an answer are not counted
	if client.BytesDown != int64(down) || client.BytesUp != int64(up) {
		t.Errorf("%d bytes up and %d down, want %d and %d", client.BytesUp, client.BytesDown, up, down)
	}
}

func TestEachManagerHasOneConnection(t *testing.T) {
	connections := map[string]bool{}
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { connections[r.RemoteAddr] = true }))
	defer server.Close()
	s, err := newSession(place{admin: &rest.Config{Host: server.URL}, user: &rest.Config{Host: server.URL}}, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	for range 3 {
		for _, manager := range []string{"a", "b"} {
			config := s.arms(nil).Config(manager) // as an arm that calls client-go itself
			client, err := rest.HTTPClientFor(config)
			if err != nil {
				t.Fatal(err)
			}
			if config.QPS >= 0 || config.RateLimiter != nil {
				t.Error("the configuration has a rate limit")
			}
			response, err := client.Post(server.URL, "", strings.NewReader("200 a"))
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, response.Body)
			_ = response.Body.Close()
		}
	}
	if len(connections) != 2 {
		t.Errorf("%d connections for two managers", len(connections))
	}
}

func TestLimiterWaitsMakeATrialVoid(t *testing.T) {
	s := newTally()
	config := &rest.Config{Host: answering(t).URL, QPS: 10, Burst: 1}
	config.NegotiatedSerializer = codecs
	client, err := rest.UnversionedRESTClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	defer http.DefaultClient.CloseIdleConnections()
	for range 3 {
		client.Get().AbsPath("/").Body([]byte("200 a")).Do(withAttempt(t.Context(), &attempt{tally: s}))
	}
	if counted, err := s.result(); counted.LimiterWaits != 2 || err == nil {
		t.Errorf("%d waits for the limiter (%v), want 2 and an error", counted.LimiterWaits, err)
	}
}
