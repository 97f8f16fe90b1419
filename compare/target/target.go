// Package target provides the cluster on which a benchmark runs. This is either a control plane that the package
// starts on this machine, or a cluster of the user. The package creates a namespace, and a user for the writes of the
// arms. It also describes the environment, and reads the metrics of the API server and etcd.
//
// The package follows some rules to avoid misleading results:
//
//   - The arms' user is never an administrator, because API priority and fairness does not limit administrators.
//   - Clients have no client-side rate limit.
//   - Whether etcd uses fsync is read from the running process.
//   - A value that a cluster does not expose is nil, and never 0.
package target

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/compare/results"
	"coapply.dev/internal/localcluster"
)

// closeTimeout is the time limit of Close.
const closeTimeout = 30 * time.Second

// Target is a cluster on which everything is prepared for a run. Call Close at the end. All methods but Close
// are safe for concurrent use.
type Target struct {
	admin, user *rest.Config
	namespace   string
	environment results.Environment
	log         io.Writer

	cluster *localcluster.Cluster // nil for a cluster of the user
	unpin   func()                // undoes the pinning of this process
	stops   bool                  // whether Close stops the cluster

	http    *http.Client    // the administrator's connection
	client  client.Client   // the administrator's client
	created []client.Object // in the order of their creation
}

// Admin returns a copy of the administrator's client configuration, which the benchmark uses to prepare, to
// watch and to clean up. It uses JSON and has no client-side rate limit.
func (t *Target) Admin() *rest.Config { return rest.CopyConfig(t.admin) }

// User returns a copy of the client configuration of the benchmark's user. This is a service account that may only write to objects
// of workloads. The configuration uses JSON and has no client-side rate limit. Its token is valid for one day, or until Close.
func (t *Target) User() *rest.Config { return rest.CopyConfig(t.user) }

// Namespace returns the name of the run's namespace.
func (t *Target) Namespace() string { return t.namespace }

// IsLocal reports whether this is a local control plane, which exists only for benchmarks. On it, workloads may
// also write outside of Namespace.
func (t *Target) IsLocal() bool { return t.cluster != nil }

// Environment returns the description of the environment. It was made when the target was opened; Pin adds its own result.
func (t *Target) Environment() results.Environment { return t.environment }

// Close deletes the objects that the target has created, and nothing else. It also works after ctx has ended,
// and takes half a minute at most. On a cluster of the user, the deletion of the namespace may still be in
// progress when Close returns. Close may be called again.
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
	for _, object := range slices.Backward(t.created) {
		if err := client.IgnoreNotFound(t.client.Delete(ctx, object)); err != nil {
			trouble = append(trouble, fmt.Errorf("deleting %T %s: %w; delete the object by hand", object, client.ObjectKeyFromObject(object), err))
		}
	}
	t.created = nil
	return errors.Join(trouble...)
}
