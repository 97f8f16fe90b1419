package apply_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/applytest"
	"coapply.dev/test/kit/memory"
)

// scene is one Apply of three replicas to the Deployment web.
type scene struct {
	reason  string
	policy  apply.Policy
	intent  apply.Intent // three replicas of the Deployment, unless given
	happens func(*world) // before or during the Apply
	sent    []string

	action    apply.Action
	err       error // a sentinel; nil for success
	attempts  int
	conflicts []string // the decision and Conflict.String of each
}

// play runs each scene in a bubble whose clock stands still unless someone waits.
func play(t *testing.T, scenes map[string]scene) {
	for name, s := range scenes {
		t.Run(name, func(t *testing.T) { synctest.Test(t, s.play) })
	}
}

func (s scene) play(t *testing.T) {
	t.Log(s.reason)
	if s.intent.Config == nil {
		s.intent.Config = threeReplicas()
	}
	w := newWorld(t)
	w.intent = &s.intent
	if s.happens != nil {
		s.happens(w)
	}
	outcome, err := w.applier(s.policy).Apply(t.Context(), s.intent)
	if !errors.Is(err, s.err) || s.err == nil && err != nil {
		t.Errorf("error %v, want %v", err, s.err)
	}
	got := []any{outcome.Action, outcome.Requests, outcome.Attempts, texts(outcome.Conflicts)}
	want := []any{s.action, len(s.sent), s.attempts, s.conflicts}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("action, requests, attempts, conflicts (-want +got):\n%s", diff)
	}
	w.WantSent(s.sent...)
	checkConflictError(t, err, outcome)
}

// allOf lets several things happen, in this order.
func allOf(happen ...func(*world)) func(*world) {
	return func(w *world) {
		for _, one := range happen {
			one(w)
		}
	}
}

// before has another client write before the n-th request.
func before(n int, happens func(*world)) func(*world) {
	return func(w *world) { w.Before(n, func() { happens(w) }) }
}

// fails has the server answer the n-th request with an error.
func fails(n int, err error) func(*world) { return func(w *world) { w.Answer(n, err) } }

// touched, removed and appears are writes of other clients: of an annotation, a delete and a create.
func touched(w *world) { w.Touch() }
func removed(w *world) { w.Remove() }
func appears(w *world) { w.Web() }

// recreated has another Deployment of that name, with these owners.
func recreated(owners ...metav1.ManagedFieldsEntry) func(*world) {
	return func(w *world) { w.Recreate(owners...) }
}

// owned makes the entries the managed fields. The resourceVersion changes.
func owned(owners ...metav1.ManagedFieldsEntry) func(*world) {
	return func(w *world) { w.Touch(); w.Own(owners...) }
}

// scaled has hpa scale the Deployment.
func scaled(replicas int32) func(*world) {
	return func(w *world) {
		scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: replicas}}
		w.Must(w.SubResource("scale").Update(w.Context(), memory.NewWeb(), client.WithSubResourceBody(scale), client.FieldOwner("hpa")))
	}
}

// alone has no other owner of the replicas.
func alone(w *world) { owned(kubectl)(w) }

// appliedNow has us apply the intent of three replicas.
func appliedNow(w *world) {
	w.Must(w.Apply(w.Context(), threeReplicas(), client.FieldOwner(manager), client.ForceOwnership))
}

// always has the server answer each write of the client under test with an error.
func always(err error) func(*world) {
	return func(w *world) {
		w.Each(applytest.Fault{Match: func(r applytest.Request) bool { return r.FieldManager == manager }, Answer: err})
	}
}

// reading changes what the LiveReader returns.
func reading(change func(client.Object)) func(*world) { return func(w *world) { w.live = change } }

// cachedNow makes the client read from a cache that holds the Deployment as it is now.
func cachedNow(w *world) { w.cache = cache{object: w.Live()} }

// notCached makes the client read from an empty cache.
func notCached(w *world) { w.cache = cache{} }

// pinnedNow makes the intent mean the Deployment that there is now.
func pinnedNow(w *world) { w.intent.UID = w.Live().UID }

var (
	force          = apply.OnConflict(apply.Force)
	forcesReplicas = apply.OnConflict(apply.Reject).At(".spec.replicas", apply.Force)

	forcedReplicas = "Force .spec.replicas to 3: owned by hpa/Update[scale] with value 5"
	rejectReplicas = "Reject .spec.replicas to 3: owned by hpa/Update[scale] with value 5"
)

// checkConflictError holds that the error has what the outcome has.
func checkConflictError(t *testing.T, err error, outcome apply.Outcome) {
	conflict := (*apply.ConflictError)(nil)
	if !errors.As(err, &conflict) {
		return
	}
	if diff := cmp.Diff(texts(outcome.Conflicts), texts(conflict.Conflicts)); diff != "" {
		t.Errorf("conflicts of the outcome and of the error (-outcome +error):\n%s", diff)
	}
	if !apply.IsOwnershipConflict(err) || apply.IsStaleWrite(err) || conflict.FieldManager != manager {
		t.Errorf("not a conflict of ours: %#v", conflict)
	}
}

func texts(conflicts []apply.Conflict) (all []string) {
	for _, c := range conflicts {
		all = append(all, fmt.Sprintf("%v %v", c.Decision, c))
	}
	return all
}
