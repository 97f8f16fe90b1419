package apply

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/lanes"
	"coapply.dev/apply/update"
	"coapply.dev/test/kit"
)

// requestsOf counts the requests of one method after another.
type requestsOf struct {
	mu       sync.Mutex
	byMethod map[string]int
	answered func(*http.Request, *http.Response)
}

func (r *requestsOf) client(t *testing.T) client.Client {
	t.Helper()
	r.byMethod = map[string]int{}
	config := rest.CopyConfig(kit.Server(t))
	config.QPS = -1
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return kit.RoundTripper(func(request *http.Request) (*http.Response, error) {
			response, err := next.RoundTrip(request)
			r.mu.Lock()
			r.byMethod[request.Method]++
			r.mu.Unlock()
			if r.answered != nil {
				r.answered(request, response)
			}
			return response, err
		})
	})
	return kit.NewClient(t, config)
}

// hot is a ConfigMap, and an updater whose requests are counted.
func hotUpdater(t *testing.T, requests *requestsOf) (plain client.Client, u *update.Updater, hot *corev1.ConfigMap) {
	t.Helper()
	plain = kit.NewClient(t, kit.Server(t))
	hot = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: kit.NewNamespace(t, plain), Name: "hot"}}
	if err := plain.Create(t.Context(), hot); err != nil {
		t.Fatal(err)
	}
	c := requests.client(t)
	u, err := update.New(update.Config{Client: c, LiveReader: c, FieldManager: "updater", Backoff: wait.Backoff{Steps: 50}, Lanes: lanes.New()})
	if err != nil {
		t.Fatal(err)
	}
	return plain, u, hot
}

// increment adds one to a number that each writer has of its own, and one to a number of
// all: a lost update is one too few.
func increment(writer int) func(*corev1.ConfigMap) error {
	return func(c *corev1.ConfigMap) error {
		if c.Data == nil {
			c.Data = map[string]string{}
		}
		for _, key := range []string{"all", fmt.Sprint("by-", writer)} {
			var n int
			_ = json.Unmarshal([]byte(c.Data[key]), &n)
			c.Data[key] = fmt.Sprint(n + 1)
		}
		return nil
	}
}

// TestOneRequestAWrite: 64 writers of one object send a PUT each, and read next to never. A
// round in which the writers come one after the other, as on a busy machine, shows nothing.
func TestOneRequestAWrite(t *testing.T) {
	t.Parallel()
	const writers, each = 64, 5
	requests := &requestsOf{}
	plain, u, hot := hotUpdater(t, requests)
	rounds := 0
	kit.WaitFor(t, "1.02 requests an update", func() string {
		clear(requests.byMethod)
		incrementAll(t, u, hot, writers, each)
		rounds++
		gets, puts := requests.byMethod[http.MethodGet], requests.byMethod[http.MethodPut]
		if puts != writers*each {
			t.Fatalf("%d writes for %d updates", puts, writers*each)
		}
		if 100*(gets+puts) > 102*writers*each {
			return fmt.Sprintf("%d reads and %d writes for %d updates", gets, puts, writers*each)
		}
		return ""
	})
	wantIncrements(t, plain, hot, writers, each*rounds, 0)
}

func incrementAll(t *testing.T, u *update.Updater, hot *corev1.ConfigMap, writers, each int) {
	t.Helper()
	var all sync.WaitGroup
	for writer := range writers {
		all.Go(func() {
			for range each {
				if _, err := update.Do(t.Context(), u, hot, increment(writer)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}

func wantIncrements(t *testing.T, c client.Client, hot *corev1.ConfigMap, writers, each, foreign int) {
	t.Helper()
	live := &corev1.ConfigMap{}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(hot), live); err != nil {
		t.Fatal(err)
	}
	if got, want := live.Data["all"], fmt.Sprint(writers*each+foreign); got != want {
		t.Errorf("%s updates are there, want %s: some were lost", got, want)
	}
	for writer := range writers {
		if got := live.Data[fmt.Sprint("by-", writer)]; got != fmt.Sprint(each) {
			t.Errorf("writer %d: %s updates are there, want %d", writer, got, each)
		}
	}
}

// TestOthersWriteInBetween: another process writes between any two of ours. Neither's
// updates are lost. A write is stale only if the writer before has handed on the object, so
// rounds in which the writers come one after the other show nothing.
func TestOthersWriteInBetween(t *testing.T) {
	t.Parallel()
	const writers, each = 16, 5
	plain := kit.NewClient(t, kit.Server(t))
	requests, foreign := &requestsOf{}, 0
	var hot *corev1.ConfigMap
	requests.answered = func(request *http.Request, response *http.Response) {
		if request.Method != http.MethodPut || response == nil || response.StatusCode != http.StatusOK {
			return
		}
		if foreign++; foreign%3 > 0 { // after each third of our writes nobody comes
			live := &corev1.ConfigMap{}
			if err := plain.Get(t.Context(), client.ObjectKeyFromObject(hot), live); err != nil {
				t.Error(err)
			}
			_ = increment(-1)(live)
			if err := plain.Update(t.Context(), live); err != nil {
				t.Error(err)
			}
		}
	}
	_, u, made := hotUpdater(t, requests)
	hot = made
	rounds, stale := 0, 0
	kit.WaitFor(t, "a stale write", func() string {
		incrementAll(t, u, hot, writers, each)
		rounds++
		if stale = requests.byMethod[http.MethodPut] - writers*each*rounds; stale == 0 {
			return fmt.Sprintf("none in %d rounds", rounds)
		}
		return ""
	})
	theirs := foreign - foreign/3
	wantIncrements(t, plain, hot, writers, each*rounds, theirs)
	if stale > theirs {
		t.Errorf("%d stale writes, %d of others", stale, theirs)
	}
}

// TestGoneInBetween: the object is deleted, or deleted and made again, after each write of
// ours. Who was given its uid never writes to another one.
func TestGoneInBetween(t *testing.T) {
	t.Parallel()
	for reason, recreate := range map[string]bool{"deleted": false, "recreated": true} {
		plain := kit.NewClient(t, kit.Server(t))
		requests := &requestsOf{}
		var once sync.Once
		var hot *corev1.ConfigMap
		requests.answered = func(request *http.Request, _ *http.Response) {
			if request.Method != http.MethodPut {
				return
			}
			once.Do(func() {
				if err := plain.Delete(t.Context(), hot.DeepCopy()); err != nil {
					t.Error(err)
				}
				if recreate {
					another := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: hot.Namespace, Name: hot.Name}}
					if err := plain.Create(t.Context(), another); err != nil {
						t.Error(err)
					}
				}
			})
		}
		_, u, made := hotUpdater(t, requests)
		hot = made
		landed := 0
		var mu sync.Mutex
		var all sync.WaitGroup
		for writer := range 8 {
			all.Go(func() {
				_, err := update.Do(t.Context(), u, hot, increment(writer))
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil:
					landed++
				case recreate && apply.ResultOf(err) == "UIDMismatch", !recreate && apierrors.IsNotFound(err):
				default:
					t.Errorf("%s: %v", reason, err)
				}
			})
		}
		all.Wait()
		if landed != 1 {
			t.Errorf("%s: %d landed, want the one before", reason, landed)
		}
		live := &corev1.ConfigMap{}
		if err := plain.Get(t.Context(), client.ObjectKeyFromObject(hot), live); recreate && (err != nil || len(live.Data) != 0) || !recreate && !apierrors.IsNotFound(err) {
			t.Errorf("%s: %v, %v", reason, live.Data, err)
		}
	}
}

// TestAnswersAreAsReads: what the API server answers to a write, of the object or of its
// status, is what it answers to a read: so a narrow write upon it keeps everybody's bytes.
func TestAnswersAreAsReads(t *testing.T) {
	t.Parallel()
	c := kit.NewClient(t, kit.Server(t))
	namespace := kit.NewNamespace(t, c)
	if err := c.Apply(t.Context(), kit.WithEnv("web", namespace), client.FieldOwner("applier")); err != nil {
		t.Fatal(err)
	}
	for _, object := range []client.Object{
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}},
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", Finalizers: []string{"example.com/kept"}}, Spec: kit.OnePodSpec()},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Data: map[string][]byte{"a": []byte("b")}},
	} {
		object.SetNamespace(namespace)
		if err := c.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	for _, kind := range []string{"Service", "Pod", "Secret", "Deployment"} {
		version := corev1.SchemeGroupVersion
		if kind == "Deployment" {
			version = appsv1.SchemeGroupVersion
		}
		for _, status := range []bool{false, true} {
			if status && kind == "Secret" {
				continue
			}
			answer := kit.LiveAt(t, c, kit.RefTo(version.WithKind(kind), namespace, "web"))
			var err error
			if status {
				_ = unstructured.SetNestedSlice(answer.Object, []any{map[string]any{
					"type": "Kept", "status": "True", "reason": "Up", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z",
				}}, "status", "conditions")
				err = c.Status().Update(t.Context(), answer)
			} else {
				answer.SetLabels(map[string]string{"changed": "yes"})
				err = c.Update(t.Context(), answer)
			}
			if err != nil {
				t.Fatalf("%s: %v", kind, err)
			}
			live := kit.LiveAt(t, c, kit.RefTo(version.WithKind(kind), namespace, "web"))
			if diff := cmp.Diff(live.Object, answer.Object); diff != "" {
				t.Errorf("%s, status: %t (-read +answered):\n%s", kind, status, diff)
			}
		}
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"}}
	if err := c.Patch(t.Context(), pod, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))); err != nil {
		t.Error(err)
	}
}
