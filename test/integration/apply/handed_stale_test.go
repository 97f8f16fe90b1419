package apply

import (
	"context"
	"net/http"
	"runtime/debug"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply/lanes"
	"coapply.dev/apply/update"
	"coapply.dev/test/kit"
)

// inLine is a context that says when a caller waits for a lane with it.
type inLine struct {
	context.Context

	waits func()
}

// Done implements context.Context. A lane asks for it once the caller is in the line.
func (c inLine) Done() <-chan struct{} {
	if strings.Contains(string(debug.Stack()), "lanes.(*visit).wait") {
		c.waits()
	}
	return c.Context.Done()
}

// TestStaleThenHanded: another process makes the first attempt of a call stale, and another call of the same process
// hands its object on to the second attempt. Each of the two calls increments the number once.
//
// The order is forced: the first PUT is sent when the second call waits for the lane and the foreign write has landed;
// the PUT of the second call is sent when the first call waits for its second turn.
func TestStaleThenHanded(t *testing.T) {
	t.Parallel()
	plain := kit.NewClient(t, kit.Server(t))
	var hot *corev1.ConfigMap
	firstPut, secondWaits, firstWaits := make(chan struct{}), make(chan struct{}), make(chan struct{})
	var mu sync.Mutex
	var sent []string
	before := func(request *http.Request) {
		if !strings.HasSuffix(request.URL.Path, "/configmaps/hot") {
			return // discovery
		}
		mu.Lock()
		sent = append(sent, request.Method)
		puts := strings.Count(strings.Join(sent, " "), http.MethodPut)
		mu.Unlock()
		if request.Method != http.MethodPut {
			return
		}
		switch puts {
		case 1:
			close(firstPut)
			<-secondWaits
			live := &corev1.ConfigMap{}
			if err := plain.Get(t.Context(), client.ObjectKeyFromObject(hot), live); err != nil {
				t.Error(err)
			}
			live.Annotations = map[string]string{"foreign": "1"}
			if err := plain.Update(t.Context(), live); err != nil {
				t.Error(err)
			}
		case 2:
			<-firstWaits
		}
	}
	config := rest.CopyConfig(kit.Server(t))
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return kit.RoundTripper(func(request *http.Request) (*http.Response, error) {
			before(request)
			return next.RoundTrip(request)
		})
	})
	c := kit.NewClient(t, config)
	u, err := update.New(update.Config{Client: c, LiveReader: c, FieldManager: "updater", Backoff: wait.Backoff{Steps: 5}, Lanes: lanes.New()})
	if err != nil {
		t.Fatal(err)
	}
	_, _, hot = hotUpdater(t, &requestsOf{})

	var calls sync.WaitGroup
	do := func(writer int, waits chan struct{}) {
		ctx := inLine{t.Context(), sync.OnceFunc(func() { close(waits) })}
		if result, err := update.Do(ctx, u, hot, increment(writer)); err != nil || !result.Changed {
			t.Errorf("call %d: changed %t, %v", writer, result.Changed, err)
		}
	}
	calls.Go(func() { do(0, firstWaits) })
	<-firstPut
	calls.Go(func() { do(1, secondWaits) })
	calls.Wait()
	wantIncrements(t, plain, hot, 2, 1, 0)
	if got, want := strings.Join(sent, " "), "GET PUT GET PUT PUT"; got != want {
		t.Errorf("sent %q, want %q", got, want)
	}
}
