package update_test

import (
	"strconv"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply/update"
)

// count increments a number in the labels, so that a call that writes twice can be detected.
func count(p *corev1.Pod) error {
	n, _ := strconv.Atoi(p.Labels["count"])
	metav1.SetMetaDataLabel(&p.ObjectMeta, "count", strconv.Itoa(n+1))
	return nil
}

// after returns an answer that waits until the channel is closed.
func after(turn <-chan struct{}) answer {
	return func(pass func() error) error {
		<-turn
		return pass()
	}
}

// TestStaleThenHanded: the first attempt of a call is stale. Its second attempt writes to the object that another
// call of the process hands on. This write lands, and the call ends.
func TestStaleThenHanded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(pod())
		object := cached(t, s, pod())
		u := s.updater(t)
		bothCame, firstIsBack := make(chan struct{}), make(chan struct{})
		s.puts = []answer{after(bothCame), after(firstIsBack)}
		var results [2]update.Result[*corev1.Pod]
		var failures [2]error
		for i := range results {
			go func() { results[i], failures[i] = update.Do(t.Context(), u, object, count) }()
			synctest.Wait()
		}
		s.foreignWrite(t, object, func(o client.Object) { o.SetAnnotations(map[string]string{"theirs": "1"}) })
		close(bothCame)
		synctest.Wait() // the first call waits for its second turn behind the second call
		close(firstIsBack)
		synctest.Wait()
		if got := cached(t, s, pod()).Labels["count"]; got != "2" || failures != [2]error{} {
			t.Errorf("%s increments for two calls, errors %v", got, failures)
		}
		if want := "GET PUT GET PUT PUT"; s.sent() != want {
			t.Errorf("sent %q, want %q", s.sent(), want)
		}
		if r := results[0]; r.Attempts != 2 || r.StaleWrites != 1 || !r.Changed || r.Object.Labels["count"] != "2" {
			t.Errorf("the first call: %d attempts, %d stale writes, changed %t, labels %v", r.Attempts, r.StaleWrites, r.Changed, r.Object.Labels)
		}
	})
}

// TestNothingToWriteAfterStale: whether an attempt hands its read on depends on that attempt alone. The first attempt
// is stale; the second one has nothing to write, reads live, and hands its read on to the next call.
func TestNothingToWriteAfterStale(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(pod())
		object := cached(t, s, pod())
		u := s.updater(t)
		bothCame, firstIsBack, thirdCame := make(chan struct{}), make(chan struct{}), make(chan struct{})
		s.puts = []answer{after(bothCame), after(firstIsBack)}
		failures := make([]error, 3)
		do := func(i int, mutate func(*corev1.Pod) error) {
			go func() { _, failures[i] = update.Do(t.Context(), u, object, mutate) }()
			synctest.Wait()
		}
		do(0, label)
		do(1, label)
		s.foreignWrite(t, object, func(o client.Object) { o.SetAnnotations(map[string]string{"theirs": "1"}) })
		close(bothCame)
		synctest.Wait()
		s.gets = []answer{after(thirdCame)} // the read of the first call's second attempt
		close(firstIsBack)
		synctest.Wait()
		do(2, count)
		close(thirdCame)
		synctest.Wait()
		if want := "GET PUT GET PUT GET PUT"; s.sent() != want {
			t.Errorf("sent %q, want %q: the third call needs no read", s.sent(), want)
		}
		for i, err := range failures {
			if err != nil {
				t.Errorf("call %d: %v", i, err)
			}
		}
	})
}
