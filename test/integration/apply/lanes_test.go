package apply

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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
	under    map[string]int    // writes of each field manager
	met      string            // a field manager with two of them
	last     map[string]string // what each field manager sent last, of the key that is its own
}

func (c *turns) client(t *testing.T) client.Client {
	t.Helper()
	config := rest.CopyConfig(kit.Server(t))
	config.QPS = -1
	config.Wrap(c.wrap)
	return kit.NewClient(t, config)
}

func (c *turns) wrap(next http.RoundTripper) http.RoundTripper {
	if c.byStatus == nil {
		c.byStatus, c.under, c.last = map[int]int{}, map[string]int{}, map[string]string{}
	}
	return kit.RoundTripper(func(request *http.Request) (*http.Response, error) {
		if request.Method == http.MethodGet {
			return next.RoundTrip(request)
		}
		c.began(request)
		response, err := next.RoundTrip(request)
		c.ended(request, response)
		return response, err
	})
}

func (c *turns) began(request *http.Request) {
	manager, sent := request.URL.Query().Get("fieldManager"), &corev1.ConfigMap{}
	if body, err := request.GetBody(); err == nil {
		_ = json.NewDecoder(body).Decode(sent) // of other kinds nothing is looked at
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now++
	c.max = max(c.max, c.now)
	if c.under[manager]++; c.under[manager] > 1 {
		c.met = manager
	}
	c.last[manager] = sent.Data["k"+strings.TrimPrefix(manager, "m")]
}

func (c *turns) ended(request *http.Request, response *http.Response) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now--
	c.under[request.URL.Query().Get("fieldManager")]--
	if response != nil {
		c.byStatus[response.StatusCode]++
	}
}

// TestLanesOfManyWriters: one object, 64 writers, 4 field managers. In a lane of width one no
// write meets another one at the server, which does each once: a write that it repeats
// inside is one that another overtakes. In a wider lane none meets one of its own manager,
// whose last value is what stands there.
func TestLanesOfManyWriters(t *testing.T) {
	for _, width := range []int{1, 3} {
		t.Run(fmt.Sprint("width ", width), func(t *testing.T) {
			t.Parallel()
			manyWriters(t, width)
		})
	}
}

func manyWriters(t *testing.T, width int) {
	t.Helper()
	const managers, writers, each = 4, 64, 3
	var counted turns
	c := counted.client(t)
	namespace, lanes := kit.NewNamespace(t, kit.NewClient(t, kit.Server(t))), lanes.OfWidth(width)
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
	if counted.max > width || counted.met != "" {
		t.Errorf("%d writes met at the server, want %d at most; two of manager %q", counted.max, width, counted.met)
	}
	if counted.byStatus[http.StatusCreated] != 1 || counted.byStatus[http.StatusOK] != writers*each-1 || len(counted.byStatus) != 2 {
		t.Errorf("answers by status: %v, want %d writes, each sent and answered once", counted.byStatus, writers*each)
	}
	live := kit.LiveAt(t, c, kit.RefTo(corev1.SchemeGroupVersion.WithKind("ConfigMap"), namespace, "hot"))
	data, _, _ := unstructured.NestedStringMap(live.Object, "data")
	for manager := range managers {
		key := fmt.Sprint("k", manager)
		if data[key] != counted.last[fmt.Sprint("m", manager)] {
			t.Errorf("%s is %q, and the last write sent was %q", key, data[key], counted.last[fmt.Sprint("m", manager)])
		}
	}
}
