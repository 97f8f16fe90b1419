package update_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/update"
)

const mine, theirs = "example.com/mine", "example.com/theirs"

func deleting(p *corev1.Pod) *corev1.Pod {
	p.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	return p
}

func TestEnsureFinalizer(t *testing.T) {
	for _, tc := range []struct {
		name, reason string
		object       *corev1.Pod
		finalizer    string
		puts         []answer
		sent         string
		want         string // the finalizers afterwards
		err          string // part of the message
	}{
		{"missing", "it is added behind the others", pod(theirs), mine, nil, "GET PUT", theirs + " " + mine, ""},
		{"present", "an existing one writes nothing", pod(mine), mine, nil, "", mine, ""},
		{"stale", "the list is read again, not overwritten", pod(theirs), mine, []answer{with(staleWrite())}, "GET PUT GET PUT", theirs + " " + mine, ""},
		{"being deleted", "the server would answer 422", deleting(pod(theirs)), mine, nil, "GET", theirs, "changing Pod ns/pod: adding finalizer example.com/mine: the object is being deleted"},
		{"being deleted with it", "there is nothing to add", deleting(pod(mine)), mine, nil, "", mine, ""},
		{"a 404 of an object that exists", "only a read shows that an object is gone", pod(), mine, []answer{with(notFound())}, "GET PUT GET", "", "the object exists"},
		{"no domain", "core kinds refuse such names, others warn", pod(), "mine", nil, "", "", `finalizer "mine": the name needs a domain`},
		{"no name", "the server would answer 422", pod(), "example.com/", nil, "", "", "must be non-empty"},
		{"nothing", "it lacks more than a domain", pod(), "", nil, "", "", "must be non-empty"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Log(tc.reason)
			s := newServer(tc.object)
			s.puts = tc.puts
			result, err := update.EnsureFinalizer(t.Context(), s.updater(t), cached(t, s, pod()), tc.finalizer)
			check(t, s, err, tc.sent, tc.err)
			if err == nil && result.Changed != (tc.sent != "") {
				t.Errorf("changed = %v", result.Changed)
			}
			if got := strings.Join(cached(t, s, pod()).Finalizers, " "); got != tc.want {
				t.Errorf("finalizers %q, want %q", got, tc.want)
			}
		})
	}
}

func TestRemoveFinalizer(t *testing.T) {
	for _, tc := range []struct {
		name, reason string
		object       *corev1.Pod
		gets, puts   []answer
		sent         string
		want         string // the finalizers afterwards
		err          string // part of the message
	}{
		{"present", "the others stay", pod(theirs, mine), nil, nil, "GET PUT", theirs, ""},
		{"missing", "there is nothing to write", pod(theirs), nil, nil, "", theirs, ""},
		{"listed twice", "no copy may hold the object", pod(mine, theirs, mine), nil, nil, "GET PUT", theirs, ""},
		{"stale", "the list is read again, not overwritten", pod(theirs, mine), nil, []answer{with(staleWrite())}, "GET PUT GET PUT", theirs, ""},
		{"absent at the write", "an absent object holds no finalizer", pod(mine), []answer{stored, with(notFound())}, []answer{with(notFound())}, "GET PUT GET", mine, ""},
		{"a 404 of an object that exists", "it holds the finalizer", pod(mine), nil, []answer{with(notFound())}, "GET PUT GET", mine, "the object exists"},
		{"absent at the read", "the cache has not seen it go", pod(mine), []answer{with(notFound())}, nil, "GET", mine, ""},
		{"absent at the retry", "it was deleted between the write and the read", pod(mine), []answer{stored, with(notFound())}, []answer{with(staleWrite())}, "GET PUT GET", mine, ""},
		{"forbidden", "only absence is success", pod(mine), nil, []answer{with(forbidden())}, "GET PUT", mine, "was refused"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Log(tc.reason)
			s := newServer(tc.object)
			s.gets, s.puts = tc.gets, tc.puts
			_, err := update.RemoveFinalizer(t.Context(), s.updater(t), cached(t, s, pod()), mine)
			check(t, s, err, tc.sent, tc.err)
			if got := strings.Join(cached(t, s, pod()).Finalizers, " "); got != tc.want {
				t.Errorf("finalizers %q, want %q", got, tc.want)
			}
		})
	}
}

func check(t *testing.T, s *server, err error, sent, message string) {
	t.Helper()
	switch {
	case message == "" && err != nil:
		t.Errorf("error = %v", err)
	case message != "" && (err == nil || !strings.Contains(err.Error(), message)):
		t.Errorf("error = %v, want %q in it", err, message)
	}
	if s.sent() != sent {
		t.Errorf("sent %q, want %q", s.sent(), sent)
	}
}

// Else the caller goes on without what is to hold the object.
func TestEnsureFinalizerVerifiesTheAnswer(t *testing.T) {
	s := newServer(pod(theirs))
	u, err := update.New(update.Config{Client: dropsFinalizer{s.client}, LiveReader: s.client, FieldManager: "test"})
	if err != nil {
		t.Fatal(err)
	}
	result, err := update.EnsureFinalizer(t.Context(), u, cached(t, s, pod()), mine)
	if !errors.Is(err, update.ErrFinalizerDropped) {
		t.Fatalf("error = %v, want ErrFinalizerDropped", err)
	}
	for _, part := range []string{"adding finalizer " + mine, "Pod ns/pod", "mutating webhook"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error = %v, want %q in it", err, part)
		}
	}
	if result.Object != nil {
		t.Errorf("result = %+v", result)
	}
}

// dropsFinalizer is admission that takes a finalizer off.
type dropsFinalizer struct{ client.Client }

func (d dropsFinalizer) Update(ctx context.Context, object client.Object, opts ...client.UpdateOption) error {
	object.SetFinalizers(slices.DeleteFunc(object.GetFinalizers(), func(f string) bool { return f == mine }))
	return d.Client.Update(ctx, object, opts...)
}

func TestBeingDeletedMatches(t *testing.T) {
	s := newServer(deleting(pod(theirs)))
	_, err := update.EnsureFinalizer(t.Context(), s.updater(t), cached(t, s, pod()), mine)
	if !errors.Is(err, update.ErrBeingDeleted) {
		t.Errorf("error = %v, want ErrBeingDeleted", err)
	}
}

func TestRemovingTheLastFinalizerDeletes(t *testing.T) {
	s := newServer(deleting(pod(mine)))
	object := cached(t, s, pod())
	if _, err := update.RemoveFinalizer(t.Context(), s.updater(t), object, mine); err != nil {
		t.Fatal(err)
	}
	err := s.store.Get(t.Context(), client.ObjectKeyFromObject(object), pod())
	if !matches(err, notFound()) {
		t.Errorf("after the removal: %v, want NotFound", err)
	}
	// Once more, by a cache that has not seen it.
	result, err := update.RemoveFinalizer(t.Context(), s.updater(t), object, mine)
	if err != nil || result.Object != nil || s.sent() != "GET PUT GET" {
		t.Errorf("sent %q, result %+v, %v", s.sent(), result, err)
	}
}

// The real server's answer has the resourceVersion of before.
func TestTheLastFinalizerIsAChange(t *testing.T) {
	s := newServer(deleting(pod(mine)))
	s.puts = []answer{with(nil)}
	result, err := update.RemoveFinalizer(t.Context(), s.updater(t), cached(t, s, pod()), mine)
	if err != nil || !result.Changed {
		t.Errorf("result %+v, %v; want changed", result, err)
	}
}

func TestRemoveFinalizerLeavesARecreatedObjectAlone(t *testing.T) {
	s := newServer(pod(mine))
	object := cached(t, s, pod())
	s.puts = []answer{func(func() error) error {
		s.foreignWrite(t, object, func(o client.Object) { o.SetFinalizers(nil) })
		s.recreate(t, object, "uid-2")
		return staleWrite()
	}}
	_, err := update.RemoveFinalizer(t.Context(), s.updater(t), object, mine)
	if !errors.Is(err, apply.ErrUIDMismatch) || s.sent() != "GET PUT GET" {
		t.Errorf("sent %q, error %v", s.sent(), err)
	}
	if got := cached(t, s, pod()).Finalizers; len(got) != 1 {
		t.Errorf("the new object's finalizers: %v", got)
	}
}

func TestRemoveFinalizerVerifiesTheAnswer(t *testing.T) {
	for _, tc := range []struct {
		name    string
		managed []metav1.ManagedFieldsEntry
		want    string
	}{{
		"owned",
		[]metav1.ManagedFieldsEntry{{
			Manager: "keeper", Operation: metav1.ManagedFieldsOperationApply, APIVersion: "v1", FieldsType: "FieldsV1",
			FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:finalizers":{"v:\"example.com/mine\"":{}}}}`),
		}},
		"removing finalizer example.com/mine from Pod ns/pod: the API server accepted the write, but the object in the response still has the finalizer, owned by keeper/Apply",
	}, {
		"no managed fields", nil,
		"removing finalizer example.com/mine from Pod ns/pod: the API server accepted the write, but the object in the response still has the finalizer, owned by no recorded manager",
	}, {
		"malformed managed fields",
		[]metav1.ManagedFieldsEntry{{Manager: "keeper", FieldsType: "FieldsV1"}},
		`managedFields[0] (manager "keeper"): fieldsV1 is missing`,
	}} {
		t.Run(tc.name, func(t *testing.T) {
			s := newServer(pod(mine))
			u, err := update.New(update.Config{
				Client:     answersWith{s.client, mine, tc.managed}, // admission put it back
				LiveReader: s.client, FieldManager: "test",
			})
			if err != nil {
				t.Fatal(err)
			}
			_, err = update.RemoveFinalizer(t.Context(), u, cached(t, s, pod()), mine)
			if !errors.Is(err, update.ErrFinalizerRemains) {
				t.Fatalf("error = %v, want ErrFinalizerRemains", err)
			}
			if !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error = %v, want %q in it", err, tc.want)
			}
		})
	}
}
