package compare

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Workload is what is written: objects, who writes what, and which fields the oracle tracks. Its name is stable.
type Workload struct {
	Name string
	// Summary is one line for lists and the report.
	Summary string
	// Claims are the published figures that the workload measures, and what about them contradicts itself.
	Claims []Claim
	// Demonstration says that the construction decides the outcome, as a barrier between read and write does: what is
	// measured shows how something goes wrong, and not how often it does.
	Demonstration bool
	// Defaults are the parameters of a cell that says nothing else.
	Defaults Parameters
	// Fixed names the parameters that mean nothing here: a run that sets one of them is refused.
	Fixed []string
	// Arms that make sense here, the first being what the others are compared with. A workload of the user's may
	// leave it empty: any arm then.
	Arms []string
	// Local says that the workload needs the local control plane: its controllers, nodes, or rights over the cluster.
	Local bool
	// Needs names the CustomResourceDefinition that has to be installed; "" for none.
	Needs string
	// SharedCache says that the cache hands out its own objects instead of copies (client.UnsafeDisableDeepCopy), and
	// that every trial has a cache, whatever its arm: Stage.Cache looks into it.
	SharedCache bool
	// Deadline ends the context of each intent; 0 leaves it to the trial.
	Deadline time.Duration
	// Prepare creates the objects of one trial and lets every manager own its fields.
	Prepare func(context.Context, Stage) (Run, error)
	// Attach returns the Run of a trial that another process has prepared: Next is all that is called of it. It is nil
	// where writers cannot be spread over processes.
	Attach func(Stage) Run
}

// Claim is a published figure beside what is to be measured.
type Claim struct {
	// Text is the claim in our words.
	Text string `json:"text"`
	// Measure names what in the results answers it, such as "requests_per_intent"; Arm and Value what is claimed.
	Measure string  `json:"measure,omitempty"`
	Arm     string  `json:"arm,omitempty"`
	Value   float64 `json:"value,omitempty"`
	// Against is the arm that the claim compares Arm with: goodput is the measure then, and Value its ratio.
	Against string `json:"against,omitempty"`
	// Contradiction says where the claim disagrees with itself; "" if nowhere.
	Contradiction string `json:"contradiction,omitempty"`
}

// Stage is what a trial gives to the workload that prepares it.
type Stage struct {
	// Admin is a client that is not counted, for preparing and cleaning, and for writers that are no one's arm. It
	// reads live.
	Admin client.Client
	// Namespace belongs to the run. Objects outside of it need names that begin with Prefix.
	Namespace string
	// Prefix is unique to the trial: what the trial creates has names that begin with it.
	Prefix string
	Parameters
	// Arm that the trial is for.
	Arm string
	// Note tells the oracle of a write to tracked fields that is not an intent's, such as putting a field back for the
	// next intent. Call it before the write with what the write wants; it is safe for concurrent use.
	Note func(Intent)
	// Cache returns the reader that is Session.Cache, from the first intent on. It is nil, or returns nil, where the trial
	// has no cache.
	Cache func() client.Reader
}

// Run is a prepared trial of a workload. Next and Background are called by many goroutines, Next by one a writer.
type Run interface {
	// Kinds are watched from before the first intent.
	Kinds() []Kind
	// Next returns the next intent of a writer; false when the writer has no more.
	Next(ctx context.Context, writer, sequence int) (Intent, bool, error)
	// Fields are the tracked fields of an object with their values; nil for an object that is not the trial's.
	Fields(*unstructured.Unstructured) map[string]string
	// Background runs beside the writers until the context ends, as a foreign controller does; it returns nil then.
	Background(context.Context) error
	// Finish is called when the writers have ended and returns what this workload alone counts, by name: such as
	// duplicates, pods that are one too many.
	Finish(context.Context) (map[string]float64, error)
	// Clean removes what the trial created. It is called after a failed Prepare as well, if Prepare gave a Run.
	Clean(context.Context) error
}

// NodeSetLabel is on each pod of a set that an arm takes as a whole; its value is the name of the set.
const NodeSetLabel = "compare.coapply.dev/nodeset"
