package apply_test

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"coapply.dev/apply"
)

// TestPauses: while other processes change the object too, an Applier pauses after an apply that took much longer than
// another one.
func TestPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newEmptyWorld(t)
		settings := func(value string) apply.Intent {
			return apply.Intent{Config: corev1ac.ConfigMap("settings", "shop").WithData(map[string]string{value: value})}
		}
		for i := range 3 {
			_, err := w.applierOf(apply.Config{FieldManager: fmt.Sprint("other-", i)}).Apply(t.Context(), settings(fmt.Sprint("key-", i)))
			w.Must(err)
		}
		var slow time.Duration
		w.wrap = append(w.wrap, func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(request *http.Request) (*http.Response, error) {
				time.Sleep(slow)
				return next.RoundTrip(request)
			})
		})
		pauses := &observer{}
		applier := w.applierOf(apply.Config{Metrics: pauses})
		for i, test := range []struct {
			takes time.Duration
			pause bool
		}{{time.Millisecond, false}, {time.Second, false}, {time.Millisecond, true}, {time.Millisecond, false}} {
			slow = test.takes
			_, err := applier.Apply(t.Context(), settings(fmt.Sprint("mine-", i)))
			if waited := pauses.seen[i].Waited; err != nil || (waited >= time.Second) != test.pause {
				t.Errorf("apply %d waited %v, %v", i, waited, err)
			}
		}
	})
}
