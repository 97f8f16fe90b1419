package apply

import (
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/test/kit"
)

// traffic lists what a client sends about objects, and the answers.
type traffic struct {
	next http.RoundTripper
	mu   sync.Mutex
	seen []string
}

func (t *traffic) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := t.next.RoundTrip(request)
	if !strings.Contains(request.URL.Path, "/namespaces/") { // discovery
		return response, err
	}
	entry := request.Method
	if response != nil {
		entry += " " + strconv.Itoa(response.StatusCode)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.seen = append(t.seen, entry)
	return response, err
}

// take gives what was sent since it was last called.
func (t *traffic) take() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	seen := strings.Join(t.seen, ", ")
	t.seen = nil
	return seen
}

// watchedClient is a client whose traffic is counted below everything that coapply
// has in it. Without recorded there is no RecordExchange.
func watchedClient(t *testing.T, recorded bool) (client.Client, *traffic) {
	t.Helper()
	config := rest.CopyConfig(kit.Server(t))
	watch := &traffic{}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		watch.next = next
		return watch
	})
	if recorded {
		config.Wrap(apply.RecordExchange)
	}
	c, err := client.New(config, client.Options{Scheme: kit.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c, watch
}
