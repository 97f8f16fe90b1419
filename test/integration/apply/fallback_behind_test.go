package apply

import (
	"fmt"
	"net/http"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply/update"
	"coapply.dev/test/kit"
)

// TestCacheBehindTheFallback: a value goes from A to B and back to A while the cache shows the
// first A all the time. By each verb the way back is written, and what is as wanted, and shown
// so, costs nothing.
func TestCacheBehindTheFallback(t *testing.T) {
	t.Parallel()
	var log kit.RequestLog
	config := kit.Server(t)
	config.Wrap(log.Wrap)
	c := kit.NewClient(t, config)
	namespace := kit.NewNamespace(t, c)
	const finalizer = "example.com/ours"
	status := func(message string) func(*update.Updater, *corev1.Pod) error {
		return func(u *update.Updater, given *corev1.Pod) error {
			_, err := update.Status(t.Context(), u, given, func(p *corev1.Pod) error { p.Status.Message = message; return nil })
			return err
		}
	}
	label := func(value string) func(*update.Updater, *corev1.Pod) error {
		return func(u *update.Updater, given *corev1.Pod) error {
			_, err := update.Do(t.Context(), u, given, func(p *corev1.Pod) error { p.Labels = map[string]string{"a": value}; return nil })
			return err
		}
	}
	ensure := func(u *update.Updater, given *corev1.Pod) error {
		_, err := update.EnsureFinalizer(t.Context(), u, given, finalizer)
		return err
	}
	remove := func(u *update.Updater, given *corev1.Pod) error {
		_, err := update.RemoveFinalizer(t.Context(), u, given, finalizer)
		return err
	}
	for _, test := range []struct {
		verb     string
		a, b     func(*update.Updater, *corev1.Pod) error
		observed func(*corev1.Pod) string
		want     string
	}{
		{"status", status("a"), status("b"), func(p *corev1.Pod) string { return p.Status.Message }, "a"},
		{"do", label("a"), label("b"), func(p *corev1.Pod) string { return p.Labels["a"] }, "a"},
		{"ensure", ensure, remove, func(p *corev1.Pod) string { return fmt.Sprint(p.Finalizers) }, "[" + finalizer + "]"},
		{"remove", remove, ensure, func(p *corev1.Pod) string { return fmt.Sprint(p.Finalizers) }, "[]"},
	} {
		updater := newUpdater(t, c, wait.Backoff{})
		live := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: test.verb},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
		read := func() *corev1.Pod {
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(live), live); err != nil {
				t.Fatal(err)
			}
			return live.DeepCopy()
		}
		if err := c.Create(t.Context(), live); err != nil {
			t.Fatal(err)
		}
		if err := test.a(newUpdater(t, c, wait.Backoff{}), read()); err != nil { // by a process before this one
			t.Fatal(err)
		}
		behind := read()
		for _, step := range []struct {
			reason     string
			do         func(*update.Updater, *corev1.Pod) error
			given      func() *corev1.Pod
			reads, put int
		}{
			{"A, as the cache shows", test.a, read, 0, 0},
			{"A to B", test.b, read, 1, 1},
			{"B to A, and the cache shows the first A", test.a, func() *corev1.Pod { return behind }, 1, 1},
			{"A, and the cache shows the first one", test.a, func() *corev1.Pod { return behind }, 1, 0},
			{"A, and the cache shows it", test.a, read, 0, 0},
		} {
			given := step.given()
			log.Reset()
			if err := step.do(updater, given); err != nil {
				t.Fatal(err)
			}
			path := "/pods/" + test.verb
			if reads, put := len(log.About(http.MethodGet, path)), len(log.About(http.MethodPut, path)); reads != step.reads || put != step.put {
				t.Errorf("%s, %s: %d reads and %d writes, want %d and %d", test.verb, step.reason, reads, put, step.reads, step.put)
			}
		}
		if got := test.observed(read()); got != test.want {
			t.Errorf("%s: the API server has %s, want %s", test.verb, got, test.want)
		}
	}
}
