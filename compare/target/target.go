// Package target is where a benchmark runs: a control plane of its own on this machine, or a cluster of the user's. It
// makes the namespace and the ordinary user that the arms write as, says what the environment is, and reads what the
// API server and etcd count.
//
// What would make a run dishonest is guarded here: the arms' user is never an administrator, whom priority and fairness
// lets pass; no client has a rate limit of its own; etcd's fsync is read from the running process; and what a cluster
// does not show is nil, never 0.
package target

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/compare/results"
	"coapply.dev/internal/localcluster"
)

// closeTimeout bounds Close.
const closeTimeout = 30 * time.Second

// Target is a cluster with what a run needs on it. End it with Close. Its methods but Close are safe for concurrent use.
type Target struct {
	admin, user *rest.Config
	namespace   string
	environment results.Environment
	level       priority
	// several says that there is more than one API server: the page of one of them says nothing of what the others did.
	several bool
	log     io.Writer

	cluster *localcluster.Cluster // nil if it is the user's
	pins    pinned
	unpin   func() // this process
	stops   bool   // Close stops the cluster

	http    *http.Client // the administrator's, as client and set have it
	client  client.Client
	set     kubernetes.Interface
	run     string          // the label's value on all that this run creates
	created []client.Object // in the order of their creation
}

// Admin is a copy of the configuration that the target was opened with, speaking JSON and without a client-side rate
// limit: to prepare, to watch and to clean up.
func (t *Target) Admin() *rest.Config { return rest.CopyConfig(t.admin) }

// User is a copy of the configuration of an ordinary user, a service account with rights on what workloads write to in
// Namespace, speaking JSON and without a client-side rate limit. Its token is good for a day, and ends with Close.
func (t *Target) User() *rest.Config { return rest.CopyConfig(t.user) }

// Namespace belongs to the run.
func (t *Target) Namespace() string { return t.namespace }

// IsLocal says that the control plane runs on this machine for benchmarks: workloads may write outside of Namespace.
func (t *Target) IsLocal() bool { return t.cluster != nil }

// Environment is what could be found out when the target was opened.
func (t *Target) Environment() results.Environment { return t.environment }

// Close deletes what the target created and nothing else, also when the context has ended: it takes half a minute at
// most. A namespace of the user's cluster is then still going. It may be called again.
func (t *Target) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	if t.unpin != nil {
		t.unpin()
	}
	if t.stops {
		return t.cluster.Stop(ctx)
	}
	var trouble []error
	var left []client.Object
	for _, object := range slices.Backward(t.created) {
		if err := t.remove(ctx, object); err != nil {
			left = append(left, object)
			trouble = append(trouble, fmt.Errorf("%s: %w: delete it by hand", t.title(object), err))
		}
	}
	slices.Reverse(left)
	t.created = left
	if len(trouble) > 0 {
		return fmt.Errorf("cleaning up after the benchmark: %w", errors.Join(trouble...))
	}
	return nil
}

// remove deletes an object that bears this run's label, and no namesake of it. It asks the server instead of keeping the
// uid: of a creation that was cut off nobody knows whether it happened.
func (t *Target) remove(ctx context.Context, object client.Object) error {
	live := object.DeepCopyObject().(client.Object)
	if err := t.client.Get(ctx, client.ObjectKeyFromObject(object), live); err != nil {
		return client.IgnoreNotFound(err)
	}
	if live.GetLabels()[runLabel] != t.run || live.GetDeletionTimestamp() != nil {
		return nil
	}
	uid := live.GetUID()
	err := t.client.Delete(ctx, live, client.Preconditions{UID: &uid})
	if apierrors.IsConflict(err) { // another of that name by now
		return nil
	}
	return client.IgnoreNotFound(err)
}
