package compare

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Workload defines the objects of trials, the writes to them, and the fields that the oracle tracks. Its name never changes.
type Workload struct {
	Name string
	// Summary is a description in one line, for lists and the report.
	Summary string
	// Demonstration means that the construction of the workload decides the outcome, such as by a barrier between
	// read and write. The results then show how something fails. They do not show how often it fails.
	Demonstration bool
	// Defaults are the values of the parameters that a run does not set.
	Defaults Parameters
	// Fixed names the parameters that have no effect in this workload. A run that sets one of them is rejected.
	Fixed []string
	// Arms are the names of the arms that make sense in this workload. The other arms are compared with the first
	// one. A workload of the user may leave Arms empty. Then any arm may run in it.
	Arms []string
	// Local means that the workload needs a local control plane, because of its controllers, its nodes, its
	// CustomResourceDefinition, or cluster-wide rights.
	Local bool
	// SharedCache means that the cache returns its own objects instead of copies (client.UnsafeDisableDeepCopy). Then
	// Stage.Cache returns a cache in every trial, even if the arm does not use a cache.
	SharedCache bool
	// Deadline is the time limit of each intent. If it is 0, the limit of the trial applies.
	Deadline time.Duration
	// Prepare creates the objects of one trial, and makes every manager the owner of its fields.
	Prepare func(context.Context, Stage) (Run, error)
	// Attach returns the Run of a trial that another process has prepared, for writers in this process. Only
	// Next of this Run is called. Attach is nil if the writers of the workload cannot be spread over processes.
	Attach func(Stage) Run
}

// Stage contains everything that a trial provides to its workload.
type Stage struct {
	// Admin is a live client whose requests are not counted. It is for preparing, for cleaning up, and for
	// writes that are not made by an arm.
	Admin client.Client
	// Namespace is the namespace of the run. Objects outside of it must have names that begin with Prefix.
	Namespace string
	// Prefix is the beginning of the names of all objects that the trial creates. It is different for each trial.
	Prefix string
	Parameters
	// Arm is the name of the trial's arm.
	Arm string
	// Note records a write to tracked fields that is not made by an arm, such as a reset of a field before the
	// next intent. It must be called before the write, with an intent that has the written values. The oracle
	// would otherwise report the change. Note is safe for concurrent use.
	Note func(Intent)
	// Cache returns the same cache as Session.Cache. It may be called once the first intent has begun. If the trial
	// has no cache, Cache is nil or returns nil.
	Cache func() client.Reader
}

// Run is a prepared trial of a workload. Each writer calls Next from one goroutine, concurrently with the other
// writers and with Background.
type Run interface {
	// Kinds returns the kinds of objects to watch. The watches start before the first intent.
	Kinds() []Kind
	// Next returns the next intent of a writer. It returns false if the writer has no more intents.
	Next(ctx context.Context, writer, sequence int) (Intent, bool, error)
	// Fields returns the tracked fields of an object with their values. It returns nil for an object that does
	// not belong to the trial.
	Fields(*unstructured.Unstructured) map[string]string
	// Background runs concurrently with the writers until ctx ends, and then returns nil. A workload can use it to
	// write like another controller.
	Background(context.Context) error
	// Finish is called when all writers have ended. It returns numbers that only this workload counts, by name,
	// such as the number of pods that were created too many.
	Finish(context.Context) (map[string]float64, error)
	// Clean deletes the objects that the trial created. It is also called if Prepare failed, provided that
	// Prepare returned a Run.
	Clean(context.Context) error
}

// NodeSetLabel is a label on each pod of a set, with the name of the set. Arms with Arm.Whole select pods by this label.
const NodeSetLabel = "compare.coapply.dev/nodeset"
