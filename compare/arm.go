package compare

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/openapi"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Arm is one way to write what an intent wants. Its name is stable: it stands in flags and results.
type Arm struct {
	Name string
	// Summary is one line for lists and the report.
	Summary string
	// Source is the code of the arm as the report shows it, from the very file that is compiled.
	Source string
	// Control says that the arm is a negative control: it must lose updates, or the oracle is blind and the run void.
	Control bool
	// Cached says that the arm reads from a cache of the trial's objects: Session.Cache is set.
	Cached bool
	// Whole says that the arm takes an intent of several parts as it is, instead of part by part.
	Whole bool
	// New returns the writer of one trial. It is called once a trial: what it holds is shared by all writers of the
	// trial, as the reconcilers of one process share it.
	New func(Session) (Writer, error)
}

// Writer writes intents. It is called by as many goroutines as the cell has writers.
type Writer interface {
	// Write returns when the intent has landed, or the arm has given it up: then with an error that wraps that of
	// the last request. It does not retry what the arm would not retry. The context carries what the trial counts
	// requests by: every request has to be made with it.
	Write(ctx context.Context, intent Intent) (Receipt, error)
}

// Receipt is what the API server answered to the write that landed.
type Receipt struct {
	// ResourceVersion of the object as the last write left it; "" if nothing was sent.
	ResourceVersion string
	// Skipped says that nothing was sent because nothing had to change.
	Skipped bool
}

// Session is what a trial gives to an arm: what a controller's process would have.
type Session struct {
	// Client returns the client of a field manager: live reads and writes as JSON, an ordinary user, no rate limit on
	// the client's side, a connection of its own. The field manager is not set: name it in each write.
	Client func(manager string) client.Client
	// Config is the configuration of that client, for arms that call client-go themselves.
	Config func(manager string) *rest.Config
	// Schemas are those of the API server. To fetch them is not counted: a process does it once.
	Schemas openapi.Client
	// Cache reads from informers on the trial's objects; nil unless Arm.Cached.
	Cache client.Reader
}

// Kind is what a workload writes to, and what the oracle watches.
type Kind struct {
	schema.GroupVersionKind
	// Resource is the plural in URLs, such as configmaps.
	Resource string
	// Cluster says that objects of the kind have no namespace.
	Cluster bool
}
