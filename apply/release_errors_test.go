package apply_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/apply"
	"coapply.dev/apply/ownership"
)

// TestReleaseErrors holds that an error says what to do.
func TestReleaseErrors(t *testing.T) {
	noKind, noNamespace := webAt(""), webAt("")
	noKind.Kind, noNamespace.Namespace = "", ""
	for reason, test := range map[string]struct {
		object  apply.ObjectRef
		owners  []metav1.ManagedFieldsEntry
		happens func(*world)
		err     error
		says    []string
	}{
		"nothing is named": {apply.ObjectRef{}, nil, nil, apply.ErrInvalidIntent, []string{"the reference to the object has no version and kind and name"}},
		"no kind":          {noKind, nil, nil, apply.ErrInvalidIntent, []string{"the reference to the object has no kind"}},
		"no name":          {apply.ObjectRef{GroupVersionKind: webAt("").GroupVersionKind}, nil, nil, apply.ErrInvalidIntent, []string{"has no name"}},
		"no namespace":     {noNamespace, nil, nil, apply.ErrInvalidIntent, []string{"a namespace is needed: Deployment is namespaced"}},
		"it cannot be without": {
			webAt(""), []metav1.ManagedFieldsEntry{entry(manager, "Apply", "", `{"f:spec":{"f:selector":{}}}`)}, nil, apply.ErrRefused,
			[]string{"the object would be invalid without the fields that field manager coapply-test would give up", "Migrate or Rename", "spec.selector: Required value"},
		},
		"another refusal": {
			webAt(""), entriesOf(""), fails(2, forbidden), apply.ErrRefused, []string{"fields of field manager coapply-test: ", "forbidden"},
		},
	} {
		w := newWorld(t, test.owners...)
		if test.happens != nil {
			test.happens(w)
		}
		_, err := ownership.Release(t.Context(), w.applier(apply.Policy{}), test.object)
		if !errors.Is(err, test.err) {
			t.Errorf("%s: error %v, want %v", reason, err, test.err)
			continue
		}
		for _, part := range test.says {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: the error does not say %q: %v", reason, part, err)
			}
		}
	}
}

// TestReleaseNamesTheObject: until the object is read, the outcome names it as the caller did.
func TestReleaseNamesTheObject(t *testing.T) {
	given, noKind := webAt("uid-1"), webAt("")
	given.ResourceVersion, noKind.Kind = "5", ""
	for _, object := range []apply.ObjectRef{given, noKind} {
		w := newWorld(t)
		w.Answer(1, unavailable)
		if outcome, err := ownership.Release(t.Context(), w.applier(apply.Policy{}), object); err == nil || outcome.Object != object {
			t.Errorf("%#v, %v; want %#v", outcome.Object, err, object)
		}
	}
}

// TestReleaseThatEnds: nothing is sent after the context ended.
func TestReleaseThatEnds(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	w := newWorld(t, entriesOf("scale")...)
	w.after(1, end)
	outcome, err := ownership.Release(ctx, w.applier(apply.Policy{}), webAt(""))
	if !errors.Is(err, context.Canceled) || outcome.Attempts != 0 {
		t.Errorf("%d attempts, %v", outcome.Attempts, err)
	}
	w.WantSent(read)
}

// TestReleaseThatCannotReadAgain: an overtaken write to a subresource says nothing of the read
// that follows.
func TestReleaseThatCannotReadAgain(t *testing.T) {
	w := newWorld(t, entriesOf("scale")...)
	allOf(before(2, touched), fails(3, apierrors.NewBadRequest("no")))(w)
	_, err := ownership.Release(t.Context(), w.applier(apply.Policy{}), webAt(""))
	if !errors.Is(err, apply.ErrRefused) || strings.Contains(err.Error(), "subresource") {
		t.Error(err)
	}
	w.WantSent(read, merges, read)
}

// TestRequestsWithoutRecord: calls stand for requests, also of reads past the cache.
func TestRequestsWithoutRecord(t *testing.T) {
	w := newWorld(t, entriesOf("scale")...)
	w.unseen = true
	released, err := ownership.Release(t.Context(), w.applier(apply.Policy{}), webAt(""))
	if err != nil || released.Requests != 2 {
		t.Errorf("%d requests of a Release, %v", released.Requests, err)
	}
	allOf(alone, brokenCache(forbidden))(w)
	applied, err := w.applier(apply.Policy{}).Apply(t.Context(), apply.Intent{Config: threeReplicas(), MustExist: true})
	if err != nil || applied.Requests != 2 {
		t.Errorf("%d requests of an Apply, %v", applied.Requests, err)
	}
	w.WantSent(read, merges, read, pinned)
}
