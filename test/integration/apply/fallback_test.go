package apply

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/update"
	"coapply.dev/test/kit"
)

func mentions(err error, path string) bool { return strings.Contains(err.Error(), path) }

func newUpdater(t testing.TB, c client.Client, backoff wait.Backoff) *update.Updater {
	t.Helper()
	updater, err := update.New(update.Config{Client: c, LiveReader: c, FieldManager: "updater", Backoff: backoff})
	if err != nil {
		t.Fatal(err)
	}
	return updater
}

// puts counts the answers to PUT requests by status.
type puts struct {
	mu       sync.Mutex
	byStatus map[int]int
}

func (p *puts) wrap(config *rest.Config) *rest.Config {
	p.byStatus = map[int]int{}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return kit.RoundTripper(func(request *http.Request) (*http.Response, error) {
			response, err := next.RoundTrip(request)
			if err == nil && request.Method == http.MethodPut {
				p.mu.Lock()
				p.byStatus[response.StatusCode]++
				p.mu.Unlock()
			}
			return response, err
		})
	})
	return config
}

// TestConcurrentWriters has writers, each in a process of its own as far as lanes go,
// add a key of their own to one object, all from the same read. What a writer was told has landed must be there, what it
// was told has not must not, and the attempts reported must be those the server
// saw.
func TestConcurrentWriters(t *testing.T) {
	patient := wait.Backoff{Steps: 500, Duration: 5 * time.Millisecond, Factor: 1, Jitter: 4}
	for _, test := range []struct {
		writers int
		backoff wait.Backoff
		all     bool // every writer has to succeed
	}{
		{10, update.DefaultRetry, false},
		{50, update.DefaultRetry, false},
		{10, patient, true},
		{50, patient, true},
	} {
		t.Run(fmt.Sprintf("%d writers, %d steps", test.writers, test.backoff.Steps), func(t *testing.T) {
			var sent puts
			c := kit.NewClient(t, sent.wrap(kit.Server(t)))
			namespace := kit.NewNamespace(t, c)
			object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "shared"}}
			if err := c.Create(t.Context(), object); err != nil {
				t.Fatal(err)
			}
			results := make([]update.Result[*corev1.ConfigMap], test.writers)
			errs := make([]error, test.writers)
			var writers sync.WaitGroup
			for i := range test.writers {
				updater := newUpdater(t, c, test.backoff)
				writers.Go(func() {
					results[i], errs[i] = update.Do(t.Context(), updater, object, func(latest *corev1.ConfigMap) error {
						if latest.Data == nil {
							latest.Data = map[string]string{}
						}
						latest.Data[fmt.Sprint(i)] = "written"
						return nil
					})
				})
			}
			writers.Wait()

			var final corev1.ConfigMap
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(object), &final); err != nil {
				t.Fatal(err)
			}
			attempts, stale, landed := 0, 0, 0
			for i := range test.writers {
				attempts += results[i].Attempts
				stale += results[i].StaleWrites
				_, there := final.Data[fmt.Sprint(i)]
				switch {
				case errs[i] == nil && !there:
					t.Errorf("writer %d: lost update", i)
				case errs[i] == nil:
					landed++
				case !errors.Is(errs[i], update.ErrExhausted) || results[i].Attempts != test.backoff.Steps:
					t.Errorf("writer %d: %v after %d attempts", i, errs[i], results[i].Attempts)
				case there:
					t.Errorf("writer %d: landed, but was told %v", i, errs[i])
				}
			}
			t.Logf("%d of %d landed, %d attempts, %d stale writes", landed, test.writers, attempts, stale)
			if test.all && landed != test.writers {
				t.Errorf("only %d of %d landed", landed, test.writers)
			}
			if sent.byStatus[http.StatusOK] != landed || sent.byStatus[http.StatusConflict] != stale || attempts != landed+stale {
				t.Errorf("the server answered %v; reported are %d landed, %d stale, %d attempts", sent.byStatus, landed, stale, attempts)
			}
		})
	}
}

func TestRecreatedObjectIsLeftAlone(t *testing.T) {
	c := kit.NewClient(t, kit.Server(t))
	namespace := kit.NewNamespace(t, c)
	const finalizer = "example.com/ours"
	create := func() *corev1.ConfigMap {
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "a", Finalizers: []string{finalizer}}}
		if err := c.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
		return object
	}
	updater := newUpdater(t, c, update.DefaultRetry)
	first := create()
	if err := c.Delete(t.Context(), first.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	if _, err := update.RemoveFinalizer(t.Context(), updater, first, finalizer); err != nil {
		t.Fatal(err)
	}
	if _, err := update.RemoveFinalizer(t.Context(), updater, first, finalizer); err != nil {
		t.Errorf("removing it from an absent object: %v, want success", err)
	}
	second := create()
	if _, err := update.RemoveFinalizer(t.Context(), updater, first, finalizer); !errors.Is(err, apply.ErrUIDMismatch) {
		t.Errorf("removing it from a recreated object: %v, want ErrUIDMismatch", err)
	}
	if _, err := update.Do(t.Context(), updater, first, func(o *corev1.ConfigMap) error {
		o.Data = map[string]string{"k": "v"}
		return nil
	}); !errors.Is(err, apply.ErrUIDMismatch) {
		t.Errorf("writing to a recreated object: %v, want ErrUIDMismatch", err)
	}
	var live corev1.ConfigMap
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(second), &live); err != nil {
		t.Fatal(err)
	}
	if live.ResourceVersion != second.ResourceVersion {
		t.Errorf("the recreated object was written to: %v", live.ObjectMeta)
	}
}

// TestCoOwnedFinalizer: a release by Server-Side Apply leaves a finalizer that
// another manager owns as well, and says nothing; RemoveFinalizer removes it.
func TestCoOwnedFinalizer(t *testing.T) {
	c := kit.NewClient(t, kit.Server(t))
	namespace := kit.NewNamespace(t, c)
	const finalizer = "example.com/shared"
	key := client.ObjectKey{Namespace: namespace, Name: "a"}
	for _, manager := range []string{"us", "them"} {
		err := c.Apply(t.Context(), corev1ac.ConfigMap("a", namespace).WithFinalizers(finalizer), client.FieldOwner(manager))
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Apply(t.Context(), corev1ac.ConfigMap("a", namespace), client.FieldOwner("us")); err != nil {
		t.Fatal(err)
	}
	var live corev1.ConfigMap
	if err := c.Get(t.Context(), key, &live); err != nil || !slices.Contains(live.Finalizers, finalizer) {
		t.Fatalf("after a release by apply: %v, %v; expected the finalizer to stay", live.Finalizers, err)
	}
	if err := c.Delete(t.Context(), live.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	result, err := update.RemoveFinalizer(t.Context(), newUpdater(t, c, update.DefaultRetry), &live, finalizer)
	if err != nil {
		t.Fatal(err)
	}
	// The delete changed the object, which the attempt reads.
	if result.Attempts != 1 || result.StaleWrites != 0 || !result.Changed {
		t.Errorf("%d attempts, %d stale writes, changed %t", result.Attempts, result.StaleWrites, result.Changed)
	}
	if err := c.Get(t.Context(), key, &live); !apierrors.IsNotFound(err) {
		t.Errorf("the object is still there: %v", err)
	}
}

// atClose calls a function when a body is closed.
type atClose struct {
	io.ReadCloser

	do func()
}

func (a atClose) Close() error {
	err := a.ReadCloser.Close()
	a.do()
	return err
}

func TestCancelledDuringBackOff(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var sent puts
	config := sent.wrap(kit.Server(t))
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return kit.RoundTripper(func(request *http.Request) (*http.Response, error) {
			response, err := next.RoundTrip(request)
			if err == nil && response.StatusCode == http.StatusConflict {
				response.Body = atClose{response.Body, cancel} // the answer has been read, and an hour of back-off follows
			}
			return response, err
		})
	})
	c := kit.NewClient(t, config)
	namespace := kit.NewNamespace(t, c)
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "a"}}
	if err := c.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	calls := 0
	result, err := update.Do(ctx, newUpdater(t, c, wait.Backoff{Steps: 3, Duration: time.Hour}), object, func(o *corev1.ConfigMap) error {
		if calls++; calls == 2 { // the first attempt has read
			newer := o.DeepCopy()
			newer.Data = map[string]string{"k": "newer"}
			if err := c.Update(ctx, newer); err != nil {
				return err
			}
		}
		o.Data = map[string]string{"k": "ours"}
		return nil
	})
	if !errors.Is(err, context.Canceled) || !errors.Is(err, apply.ErrStaleWrite) {
		t.Errorf("got %v, want the cancellation and the stale write", err)
	}
	if calls != 2 || result.Attempts != 1 || sent.byStatus[http.StatusConflict] != 1 {
		t.Errorf("%d calls, %d attempts, answers %v; want 2, and one of each", calls, result.Attempts, sent.byStatus)
	}
	var live corev1.ConfigMap
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(object), &live); err != nil || live.Data["k"] != "newer" {
		t.Errorf("the object holds %v, %v", live.Data, err)
	}
}
