package apply_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"coapply.dev/apply"
)

// TestReleaseErrors holds that an error says what to do.
func TestReleaseErrors(t *testing.T) {
	noKind, noNamespace := webAt(""), webAt("")
	noKind.Kind, noNamespace.Namespace = "", ""
	required := field.Required(field.NewPath("spec", "template"), "")
	invalid := apierrors.NewInvalid(schema.GroupKind{Group: "apps", Kind: "Deployment"}, "web", field.ErrorList{required})
	entries := step{"GET", ok(ours("uid-1", "7", ""))}
	for reason, test := range map[string]struct {
		object apply.ObjectRef
		steps  []step
		err    error
		says   []string
	}{
		"nothing is named": {apply.ObjectRef{}, nil, apply.ErrInvalidIntent, []string{"the reference to the object lacks its version and kind and name"}},
		"no kind":          {noKind, nil, apply.ErrInvalidIntent, []string{"the reference to the object lacks its kind"}},
		"no namespace":     {noNamespace, nil, apply.ErrInvalidIntent, []string{"a namespace is needed: Deployment is namespaced"}},
		"it cannot be without": {
			webAt(""),
			[]step{entries, {"PATCH uid=uid-1", fail(invalid)}},
			apply.ErrRefused,
			[]string{"the object is invalid without the fields that a release of coapply-test removes", "Migrate or Rename", "spec.template: Required value"},
		},
		"another refusal": {
			webAt(""),
			[]step{entries, {"PATCH uid=uid-1", fail(apierrors.NewForbidden(deployments, "web", nil))}},
			apply.ErrRefused,
			[]string{"releasing the fields of coapply-test: ", "forbidden"},
		},
	} {
		s := newScript(t, test.steps)
		_, err := s.applier(apply.Policy{}, nil).Release(t.Context(), test.object)
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
	for object, steps := range map[apply.ObjectRef][]step{
		given: {{"GET", fail(apierrors.NewServiceUnavailable("no leader"))}}, noKind: nil,
	} {
		if outcome, err := newScript(t, steps).applier(apply.Policy{}, nil).Release(t.Context(), object); err == nil || outcome.Object != object {
			t.Errorf("%#v, %v; want %#v", outcome.Object, err, object)
		}
	}
}

// TestReleaseThatEnds: nothing is sent after the context ended.
func TestReleaseThatEnds(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	s := newScript(t, []step{{"GET", then(ok(ours("uid-1", "7", "scale")), end)}})
	outcome, err := s.applier(apply.Policy{}, nil).Release(ctx, webAt(""))
	if !errors.Is(err, context.Canceled) || outcome.Attempts != 0 {
		t.Errorf("%d attempts, %v", outcome.Attempts, err)
	}
}

// TestReleaseThatCannotReadAgain: an overtaken write to a subresource says nothing of the read
// that follows.
func TestReleaseThatCannotReadAgain(t *testing.T) {
	s := newScript(t, []step{
		{"GET", ok(ours("uid-1", "7", "scale"))}, {"MERGE uid=uid-1 resourceVersion=7", stale()}, {"GET", fail(apierrors.NewBadRequest("no"))},
	})
	_, err := s.applier(apply.Policy{}, nil).Release(t.Context(), webAt(""))
	if !errors.Is(err, apply.ErrRefused) || strings.Contains(err.Error(), "subresource") {
		t.Error(err)
	}
}

// TestRequestsWithoutRecord: calls stand for requests, also of reads past the cache.
func TestRequestsWithoutRecord(t *testing.T) {
	s := newScript(t, []step{{"GET", ok(ours("uid-1", "7", "scale"))}, {"MERGE uid=uid-1 resourceVersion=7", ok(web("uid-1", "8"))}})
	released, err := s.applierOver(s.restConfig(false), apply.Config{}, nil).Release(t.Context(), webAt(""))
	if err != nil || released.Requests != 2 {
		t.Errorf("%d requests of a Release, %v", released.Requests, err)
	}
	forbidden := cache{err: apierrors.NewForbidden(deployments, "web", nil)}
	s = newScript(t, []step{{"GET", ok(web("uid-1", "7"))}, {"PATCH uid=uid-1", ok(web("uid-1", "8"))}})
	applied, err := s.applierOver(s.restConfig(false), apply.Config{}, forbidden).
		Apply(t.Context(), apply.Intent{Config: threeReplicas(), MustExist: true})
	if err != nil || applied.Requests != 2 {
		t.Errorf("%d requests of an Apply, %v", applied.Requests, err)
	}
}
