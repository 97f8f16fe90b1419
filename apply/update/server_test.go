package update_test

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"coapply.dev/apply"
	"coapply.dev/apply/update"
)

// server is the fake client used as transport only: it counts requests, keeps the
// bodies of writes, and gives the answers it is told to. What the real server
// does with them is shown by test/integration.
type server struct {
	store    client.WithWatch // not counted
	client   client.WithWatch // counted
	requests []string         // in their order: GET, PUT, PUT status
	bodies   []client.Object  // of the writes
	// untracked are the writes for which a client with read-your-writes is told not to wait.
	untracked []bool
	gets      []answer // for the first reads; then the store's
	puts      []answer // for the first writes; then the store's
	mu        sync.Mutex
	observed  []apply.UpdateObservation // under mu: calls end outside the lane
}

// answer makes the answer to one request; pass gives the store's.
type answer func(pass func() error) error

func with(err error) answer { return func(func() error) error { return err } }

// stored is the store's own answer, before one of the test's.
func stored(pass func() error) error { return pass() }

// lost lets the write land and loses its answer.
func lost(pass func() error) error {
	if err := pass(); err != nil {
		return err
	}
	return &url.Error{Op: "Put", URL: "https://server", Err: syscall.ECONNRESET}
}

func newServer(objects ...client.Object) *server {
	s := &server{store: fake.NewClientBuilder().WithObjects(objects...).WithReturnManagedFields().
		WithStatusSubresource(&corev1.Pod{}).Build()}
	s.client = interceptor.NewClient(s.store, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			return s.serve("GET", &s.gets, func() error { return c.Get(ctx, key, o, opts...) })
		},
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			s.bodies = append(s.bodies, o.DeepCopyObject().(client.Object))
			s.untracked = append(s.untracked, (&client.UpdateOptions{}).ApplyOptions(opts).DisableReadYourWritesConsistency)
			return s.serve("PUT", &s.puts, func() error { return c.Update(ctx, o, opts...) })
		},
		SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, o client.Object, opts ...client.SubResourceUpdateOption) error {
			s.bodies = append(s.bodies, o.DeepCopyObject().(client.Object))
			s.untracked = append(s.untracked, (&client.SubResourceUpdateOptions{}).ApplyOptions(opts).DisableReadYourWritesConsistency)
			return s.serve("PUT "+sub, &s.puts, func() error { return c.SubResource(sub).Update(ctx, o, opts...) })
		},
	})
	return s
}

func (s *server) serve(request string, answers *[]answer, pass func() error) error {
	s.requests = append(s.requests, request)
	if len(*answers) == 0 {
		return pass()
	}
	next := (*answers)[0]
	*answers = (*answers)[1:]
	return next(pass)
}

// sent gives the requests in their order, such as "PUT GET PUT".
func (s *server) sent() string { return strings.Join(s.requests, " ") }

// ObserveApply is never called here.
func (s *server) ObserveApply(apply.ApplyObservation) {}

// ObserveUpdate keeps the observation.
func (s *server) ObserveUpdate(o apply.UpdateObservation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.observed = append(s.observed, o)
}

// immediate is a back-off without waits.
func immediate(steps int) wait.Backoff { return wait.Backoff{Steps: steps} }

// fixed is a back-off whose waits are equal.
func fixed(between time.Duration, steps int) wait.Backoff {
	return wait.Backoff{Steps: steps, Duration: between}
}

// updater makes at most 4 attempts without waits.
func (s *server) updater(t *testing.T) *update.Updater { return s.updaterWith(t, immediate(4)) }

func (s *server) updaterWith(t *testing.T, backoff wait.Backoff) *update.Updater {
	t.Helper()
	u, err := update.New(update.Config{
		Client: s.client, LiveReader: s.client, FieldManager: "test", Backoff: backoff, Metrics: s,
	})
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// cached gives the object as a cache would hold it; not counted.
func cached[T client.Object](t *testing.T, s *server, object T) T {
	t.Helper()
	if err := s.store.Get(context.Background(), client.ObjectKeyFromObject(object), object); err != nil {
		t.Fatal(err)
	}
	return object
}

// foreignWrite changes the object behind the back of whoever has read it.
func (s *server) foreignWrite(t *testing.T, object client.Object, change func(client.Object)) {
	t.Helper()
	other := object.DeepCopyObject().(client.Object)
	if err := s.store.Get(context.Background(), client.ObjectKeyFromObject(object), other); err != nil {
		t.Fatal(err)
	}
	change(other)
	if err := s.store.Update(context.Background(), other); err != nil {
		t.Fatal(err)
	}
}

func (s *server) recreate(t *testing.T, object client.Object, uid types.UID) {
	t.Helper()
	s.remove(t, object)
	again := object.DeepCopyObject().(client.Object)
	again.SetUID(uid)
	again.SetResourceVersion("")
	if err := s.store.Create(context.Background(), again); err != nil {
		t.Fatal(err)
	}
}

func (s *server) remove(t *testing.T, object client.Object) {
	t.Helper()
	if err := s.store.Delete(context.Background(), object); err != nil {
		t.Fatal(err)
	}
}

func pod(finalizers ...string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "pod", UID: "uid-1", Finalizers: finalizers}}
}

var pods = schema.GroupResource{Resource: "pods"}

func staleWrite() error {
	return apierrors.NewConflict(pods, "pod", fmt.Errorf("the object has been modified"))
}

func ownershipConflict() error {
	return apierrors.NewApplyConflict([]metav1.StatusCause{{
		Type: metav1.CauseTypeFieldManagerConflict, Field: ".spec.replicas", Message: `conflict with "hpa"`,
	}}, "Apply failed with 1 conflict")
}

func forbidden() error { return apierrors.NewForbidden(pods, "pod", fmt.Errorf("no")) }

func notFound() error { return apierrors.NewNotFound(pods, "pod") }

func isConflict(err error) bool { return apierrors.IsConflict(err) }
