package applytest_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"

	"coapply.dev/apply"
	"coapply.dev/apply/applytest"
	"coapply.dev/apply/update"
)

// errNone marks a verb that never gets the answer.
var errNone = errors.New("never answered so")

// answers are all of them, with what each is for package apply.
var answers = map[string]struct {
	reason   string
	answer   applytest.Answer
	classify error // of an apply's error
	apply    error
	update   error // of apply/update, every time
}{
	"OwnershipConflict": {
		"rejected by the zero policy; an update has none", applytest.OwnershipConflict(hpa, ".spec.replicas"),
		apply.ErrConflict, apply.ErrConflict, errNone,
	},
	"StaleWrite": {
		"nothing was pinned: a race inside the server", applytest.StaleWrite(),
		apply.ErrStaleWrite, apply.ErrRetryable, update.ErrExhausted,
	},
	"UIDGone": {
		"without a live read it looks like a stale write", applytest.UIDGone(),
		apply.ErrStaleWrite, apply.ErrRetryable, errNone,
	},
	"UIDChanged": {
		"an update gets a 409, and reads the same uid", applytest.UIDChanged(),
		apply.ErrUIDMismatch, apply.ErrUIDMismatch, update.ErrExhausted,
	},
	"AlreadyExists":        {"lost the creation", applytest.AlreadyExists(), apply.ErrRetryable, apply.ErrRetryable, errNone},
	"Invalid":              {"422", applytest.Invalid("spec.replicas", "no"), apply.ErrRefused, apply.ErrRefused, apply.ErrRefused},
	"UnknownField":         {"500 with an empty reason", applytest.UnknownField(".spec.x"), apply.ErrRefused, apply.ErrRefused, errNone},
	"TooLarge":             {"413", applytest.TooLarge(), apply.ErrRefused, apply.ErrRefused, apply.ErrRefused},
	"TooLargeForStorage":   {"500 with an empty reason", applytest.TooLargeForStorage(), apply.ErrRefused, apply.ErrRefused, apply.ErrRefused},
	"Forbidden":            {"403", applytest.Forbidden(), apply.ErrRefused, apply.ErrRefused, apply.ErrRefused},
	"NamespaceTerminating": {"403", applytest.NamespaceTerminating(), apply.ErrRefused, apply.ErrRefused, errNone},
	"NotFound":             {"404", applytest.NotFound(), apply.ErrRefused, apply.ErrRefused, apply.ErrRefused},
	"TooManyRequests":      {"429", applytest.TooManyRequests(2 * time.Second), apply.ErrRetryable, apply.ErrRetryable, apply.ErrRetryable},
	"ServerTimeout":        {"500", applytest.ServerTimeout(), apply.ErrRetryable, apply.ErrRetryable, apply.ErrRetryable},
	"Unavailable":          {"503", applytest.Unavailable(), apply.ErrRetryable, apply.ErrRetryable, apply.ErrRetryable},
	"InternalError":        {"500 with a reason", applytest.InternalError(), apply.ErrRetryable, apply.ErrRetryable, apply.ErrRetryable},
	"ConnectionReset":      {"no answer", applytest.ConnectionReset(), apply.ErrRetryable, apply.ErrRetryable, apply.ErrRetryable},
	"AnswerLost":           {"no answer", applytest.AnswerLost(), apply.ErrRetryable, apply.ErrRetryable, apply.ErrRetryable},
	"ClientTimeout":        {"the context goes on", applytest.ClientTimeout(), apply.ErrRetryable, apply.ErrRetryable, apply.ErrRetryable},
	"Hangs":                {"the context ends", applytest.Hangs(), context.DeadlineExceeded, context.DeadlineExceeded, context.DeadlineExceeded},
	"Fails":                {"an error of no known form", applytest.Fails(errOwn), errOwn, errOwn, errOwn},
}

var (
	errOwn      = errors.New("the test's own")
	errNotFound = errors.New("a 404")
)

// TestAnswersAreRecognised proves for each answer what the library makes of it.
func TestAnswersAreRecognised(t *testing.T) {
	for name, a := range answers {
		fault := applytest.Fault{Answer: a.answer, Times: applytest.Always}
		config := threeReplicas
		if strings.HasPrefix(name, "UID") {
			config = pinnedReplicas
		}
		t.Run(name+"/classify", func(t *testing.T) {
			bounded(t, func(t *testing.T, ctx context.Context) error {
				fault.Call.Verb = applytest.VerbApply
				return classified(ctx, applytest.Inject(t, fakeClient(), fault).Apply(ctx, config()))
			}, a.classify)
		})
		t.Run(name+"/apply", func(t *testing.T) {
			bounded(t, func(t *testing.T, ctx context.Context) error {
				fault.Call.Verb = applytest.VerbApply
				_, err := newApplier(t, applytest.Inject(t, fakeClient(), fault), apply.Policy{}).
					Apply(ctx, apply.Intent{Config: config()})
				return err
			}, a.apply)
		})
		if errors.Is(a.update, errNone) {
			continue
		}
		t.Run(name+"/update", func(t *testing.T) {
			bounded(t, func(t *testing.T, ctx context.Context) error {
				fault.Call.Verb = applytest.VerbUpdate
				return updateOver(ctx, t, applytest.Inject(t, fakeClient(), fault))
			}, a.update)
		})
	}
}

// bounded returns the call a minute of a clock that stands still unless all wait.
func bounded(t *testing.T, call func(*testing.T, context.Context) error, want error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := call(t, ctx)
		if found := errors.Is(err, want) || errors.Is(want, errNotFound) && apierrors.IsNotFound(err); !found {
			t.Errorf("got %v, want %v", err, want)
		}
	})
}

// classified has no sentinel for an ownership conflict, which Classify leaves as it
// is.
func classified(ctx context.Context, err error) error {
	if apply.IsOwnershipConflict(err) {
		return apply.ErrConflict
	}
	return apply.Classify(ctx, apply.ObjectRef{}, err)
}

func updateOver(ctx context.Context, t *testing.T, c *applytest.Faulty) error {
	t.Helper()
	updater, err := update.New(update.Config{Client: c, LiveReader: c, FieldManager: "test", Backoff: wait.Backoff{Steps: 3}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = update.Do(ctx, updater, live(t, c), func(d *appsv1.Deployment) error {
		d.Labels = map[string]string{"a": "b"}
		return nil
	})
	return err
}

func TestRetryAfterIsPassedOn(t *testing.T) {
	c := applytest.Inject(t, fakeClient(), applytest.Fault{Answer: applytest.TooManyRequests(7 * time.Second)})
	_, err := newApplier(t, c, apply.Policy{}).Apply(t.Context(), apply.Intent{Config: threeReplicas()})
	if retryable, ok := errors.AsType[*apply.RetryableError](err); !ok || retryable.After != 7*time.Second {
		t.Errorf("%v, want to wait 7 s", err)
	}
}

// A 409 for a uid is told from a stale write by a live read.
func TestUIDGone(t *testing.T) {
	c := fakeClient()
	if err := c.Delete(t.Context(), web()); err != nil {
		t.Fatal(err)
	}
	faulty := applytest.Inject(t, c, applytest.Fault{Answer: applytest.UIDGone()})
	_, err := newApplier(t, faulty, apply.Policy{}).Apply(t.Context(), apply.Intent{Config: threeReplicas().WithUID("uid-1")})
	if !errors.Is(err, apply.ErrUIDMismatch) {
		t.Errorf("%v, want %v", err, apply.ErrUIDMismatch)
	}
}

// The other owner is found in the managed fields of the wrapped client's object.
func TestOwnershipConflictIsNamed(t *testing.T) {
	c := applytest.Inject(t, fakeClient(), applytest.Fault{Answer: applytest.OwnershipConflict(hpa, ".spec.replicas")})
	_, err := newApplier(t, c, apply.Policy{}).Apply(t.Context(), apply.Intent{Config: threeReplicas()})
	conflict, ok := errors.AsType[*apply.ConflictError](err)
	if !ok || len(conflict.Conflicts) != 1 {
		t.Fatalf("%v, want one conflict", err)
	}
	want := ".spec.replicas to 3: owned by hpa/Update[scale] with 5"
	if got := conflict.Conflicts[0].String(); got != want {
		t.Errorf("conflict %q, want %q", got, want)
	}
}

// A force that is overtaken each time gives up, and no unpinned one follows.
func TestContended(t *testing.T) {
	c := applytest.Inject(t, fakeClient(),
		applytest.Fault{Answer: applytest.OwnershipConflict(hpa, ".spec.replicas"), Times: applytest.Always},
		applytest.Fault{Call: applytest.Call{Forced: true}, Answer: applytest.StaleWrite(), Times: applytest.Always})
	_, err := newApplier(t, c, apply.OnConflict(apply.Force)).Apply(t.Context(), apply.Intent{Config: threeReplicas()})
	if !errors.Is(err, apply.ErrContended) {
		t.Errorf("%v, want %v", err, apply.ErrContended)
	}
	if got := *live(t, c).Spec.Replicas; got != 5 {
		t.Errorf("%d replicas, want the 5 of before", got)
	}
}
