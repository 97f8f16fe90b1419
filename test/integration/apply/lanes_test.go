package apply

import (
	"fmt"
	"net/http"
	"sync"
	"testing"

	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/lanes"
	"coapply.dev/test/kit"
)

// turns counts the writes that are on their way, and the answers of each status.
type turns struct {
	mu       sync.Mutex
	now, max int
	byStatus map[int]int
}

func (c *turns) client(t *testing.T) client.Client {
	t.Helper()
	c.byStatus = map[int]int{}
	config := rest.CopyConfig(kit.Server(t))
	config.QPS = -1
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return kit.RoundTripper(func(request *http.Request) (*http.Response, error) {
			if request.Method == http.MethodGet {
				return next.RoundTrip(request)
			}
			c.began()
			response, err := next.RoundTrip(request)
			c.ended(response)
			return response, err
		})
	})
	return kit.NewClient(t, config)
}

func (c *turns) began() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now++
	c.max = max(c.max, c.now)
}

func (c *turns) ended(response *http.Response) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now--
	if response != nil {
		c.byStatus[response.StatusCode]++
	}
}

// TestLanesOfManyWriters: one object, 64 writers, 4 field managers. As no write meets
// another one at the server, it does each once: a write that it repeats inside is one
// that another overtakes.
func TestLanesOfManyWriters(t *testing.T) {
	t.Parallel()
	const managers, writers, each = 4, 64, 3
	var counted turns
	c := counted.client(t)
	namespace, lanes := kit.NewNamespace(t, kit.NewClient(t, kit.Server(t))), lanes.New()
	var appliers [managers]*apply.Applier
	for i := range appliers {
		var err error
		if appliers[i], err = apply.New(c, apply.Config{FieldManager: fmt.Sprint("m", i), LiveReader: c, Lanes: lanes}); err != nil {
			t.Fatal(err)
		}
	}
	var all sync.WaitGroup
	for writer := range writers {
		all.Go(func() {
			manager := writer % managers
			for n := range each {
				value := fmt.Sprintf("%d of %d", n, writer)
				config := corev1ac.ConfigMap("hot", namespace).WithData(map[string]string{fmt.Sprint("k", manager): value})
				outcome, err := appliers[manager].Apply(t.Context(), apply.Intent{Config: config})
				if err != nil || outcome.Attempts != 1 || outcome.Requests != 1 || outcome.Action == apply.Unchanged {
					t.Errorf("%+v, %v", outcome, err)
				}
			}
		})
	}
	all.Wait()
	if counted.max != 1 {
		t.Errorf("%d writes met at the server", counted.max)
	}
	if counted.byStatus[http.StatusCreated] != 1 || counted.byStatus[http.StatusOK] != writers*each-1 || len(counted.byStatus) != 2 {
		t.Errorf("answers by status: %v, want %d writes, each sent and answered once", counted.byStatus, writers*each)
	}
}
