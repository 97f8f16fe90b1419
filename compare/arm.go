package compare

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/openapi"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Arm is one way to write an Intent. Its name never changes, because it appears in flags and in results.
type Arm struct {
	Name string
	// Summary is a description in one line, for lists and the report.
	Summary string
	// Control means that the arm is a negative control: it must lose updates. If it loses none, the oracle may
	// be unable to find lost updates, and the run is void.
	Control bool
	// Cached means that the arm reads from a cache of the trial's objects. Then Session.Cache is set, for all arms of the
	// cell, so that all have the costs of the informers.
	Cached bool
	// Whole means that Write gets all parts of an intent in one call. Otherwise, Write gets one part in each call.
	Whole bool
	// New returns the writer of one trial. It is called once per trial and process. The state of the writer is
	// shared by all writers in the process, as the reconcilers of one process share their state.
	New func(Session) (Writer, error)
}

// Writer writes intents. Each writer of the benchmark has a goroutine of its own, and all goroutines call Write
// concurrently.
type Writer interface {
	// Write returns a Receipt when the API server has acknowledged the write, or when nothing had to change. If the
	// arm gives up, Write returns an error that wraps the error of the last request. All retries are part of the arm.
	// All requests must be made with ctx, because the trial counts requests by their context.
	Write(ctx context.Context, intent Intent) (Receipt, error)
}

// Receipt is the result of an intent that landed: the API server acknowledged the write, or nothing had to change.
type Receipt struct {
	// ResourceVersion is the resourceVersion in the response to the last write; "" if no write was sent.
	ResourceVersion string
	// Skipped means that no write was sent, because nothing had to change.
	Skipped bool
}

// Session provides an arm with the clients, the schemas and the cache of a trial.
type Session struct {
	// Client returns the client for a field manager. Each of these clients has a connection of its own, and no
	// client-side rate limit. It reads from the API server, uses JSON, and authenticates as a user without special
	// rights. It does not send the name of the field manager: pass client.FieldOwner in each write.
	Client func(manager string) client.Client
	// Config returns the configuration of the client for a field manager, for arms that use client-go themselves.
	Config func(manager string) *rest.Config
	// Schemas gets the OpenAPI schemas of the API server. These requests are not counted, because a process
	// gets the schemas only once.
	Schemas openapi.Client
	// Cache reads the trial's objects from informers. It is nil unless Arm.Cached is set for an arm of the cell.
	Cache client.Reader
}

// Kind is an object kind that a workload writes to and that the oracle watches.
type Kind struct {
	schema.GroupVersionKind
	// Resource is the plural name in URLs, such as configmaps.
	Resource string
	// Cluster means that objects of the kind are cluster-scoped.
	Cluster bool
}
