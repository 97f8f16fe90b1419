package update_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/update"
)

func TestForeignFieldsSurvive(t *testing.T) {
	s := newServer(pod())
	object := cached(t, s, pod())
	s.foreignWrite(t, object, func(o client.Object) { o.SetAnnotations(map[string]string{"theirs": "kept"}) })

	result, err := update.Do(t.Context(), s.updater(t), object, label)
	if err != nil {
		t.Fatal(err)
	}
	if s.sent() != "GET PUT" || result.StaleWrites != 0 {
		t.Errorf("sent %q, %d stale writes: the old object was written", s.sent(), result.StaleWrites)
	}
	if got := result.Object; got.Labels["mine"] != "yes" || got.Annotations["theirs"] != "kept" {
		t.Errorf("labels %v, annotations %v: one write lost the other", got.Labels, got.Annotations)
	}
}

// A captured object burns every attempt when a caller reads outside the closure;
// here it cannot, as mutate is given the attempt's object.
func TestEveryAttemptSeesTheLiveObject(t *testing.T) {
	s := newServer(pod())
	object := cached(t, s, pod())
	var seen []string
	_, err := update.Do(t.Context(), s.updater(t), object, func(p *corev1.Pod) error {
		seen = append(seen, p.Annotations["n"])
		if n := len(seen); n < 4 {
			s.foreignWrite(t, object, func(o client.Object) { o.SetAnnotations(map[string]string{"n": fmt.Sprint(n)}) })
		}
		return label(p)
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(seen, ","); got != ",1,2,3" || s.sent() != "GET PUT GET PUT GET PUT" {
		t.Errorf("sent %q, mutate saw %q; want what was handed in and the value of each foreign write", s.sent(), got)
	}
}

// After a lost answer the caller's next run finds its write in place.
func TestRepeatAfterLostAnswer(t *testing.T) {
	s := newServer(pod())
	s.puts = []answer{lost}
	object := cached(t, s, pod())
	if _, err := update.Do(t.Context(), s.updater(t), object, label); !errors.Is(err, apply.ErrRetryable) {
		t.Fatalf("error = %v, want ErrRetryable", err)
	}
	// The cache has not seen the write that landed; the live read has.
	result, err := update.Do(t.Context(), s.updater(t), object, label)
	if err != nil || result.Changed || result.Attempts != 1 || result.StaleWrites != 0 {
		t.Errorf("result %+v, %v; want one attempt that finds nothing to change", result, err)
	}
	if s.sent() != "GET PUT GET" {
		t.Errorf("sent %q", s.sent())
	}
}

func TestRecreatedObjectIsNotTouched(t *testing.T) {
	s := newServer(pod())
	object := cached(t, s, pod())
	s.recreate(t, object, "uid-2")

	_, err := update.Do(t.Context(), s.updater(t), object, label)
	var mismatch *apply.UIDMismatchError
	if !errors.As(err, &mismatch) || mismatch.Object.UID != "uid-1" {
		t.Errorf("error = %v, want a UIDMismatchError for uid-1", err)
	}
	if s.sent() != "GET" || s.observed[0].Result != "UIDMismatch" {
		t.Errorf("sent %q, result %s", s.sent(), s.observed[0].Result)
	}
	if now := cached(t, s, pod()); now.Labels["mine"] != "" {
		t.Error("the new object was written to")
	}
}

// A name without uid and resourceVersion is read live, and its uid is pinned by
// that first read.
func TestNameOnly(t *testing.T) {
	s := newServer(pod())
	name := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "pod"}}
	s.puts = []answer{func(func() error) error {
		s.recreate(t, pod(), "uid-2")
		return staleWrite()
	}}
	_, err := update.Do(t.Context(), s.updater(t), name, label)
	if !errors.Is(err, apply.ErrUIDMismatch) || s.sent() != "GET PUT GET" {
		t.Errorf("sent %q, error %v; want GET PUT GET and ErrUIDMismatch", s.sent(), err)
	}
}

func TestBodyOfTheWrite(t *testing.T) {
	live := pod()
	live.ManagedFields = []metav1.ManagedFieldsEntry{managedBy("somebody")}
	s := newServer(live)
	object := cached(t, s, pod())
	object.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "only-mine"}} // as a stripped cache gives them
	if _, err := update.Do(t.Context(), s.updater(t), object, label); err != nil {
		t.Fatal(err)
	}
	body := s.bodies[0]
	if body.GetManagedFields() != nil {
		t.Errorf("the body carries managed fields: %v", body.GetManagedFields())
	}
	if body.GetResourceVersion() != object.ResourceVersion || body.GetUID() != "uid-1" {
		t.Errorf("the body carries resourceVersion %q and uid %q", body.GetResourceVersion(), body.GetUID())
	}
}

// Without its managed fields an object looks as if nobody owned it: what is
// extracted from it and applied would release everything.
func TestUnwrittenResultKeepsManagedFields(t *testing.T) {
	s := newServer(pod())
	object := cached(t, s, pod())
	object.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "somebody"}}
	result, err := update.Do(t.Context(), s.updater(t), object, func(*corev1.Pod) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(object, result.Object); diff != "" {
		t.Errorf("result (-given +result):\n%s", diff)
	}
}
