package check

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/cmd/kubectl-fieldowners/internal/objects"
	"coapply.dev/cmd/kubectl-fieldowners/internal/view"
	"coapply.dev/cmd/kubectl-fieldowners/lint"
	"coapply.dev/fieldowners"
	"coapply.dev/fieldowners/predict"
)

// list is what check -o json and -o yaml print. It is stable: fields may be
// added, none is renamed, removed or given another meaning.
type list struct {
	FieldManager string   `json:"fieldManager"`
	Server       bool     `json:"server"` // asked by a dry run, not predicted
	Items        []result `json:"items"`
}

// result is what an apply of one object would do. Values of Secrets are hidden.
type result struct {
	File       string     `json:"file"`
	Line       int        `json:"line"`
	APIVersion string     `json:"apiVersion"`
	Kind       string     `json:"kind"`
	Namespace  string     `json:"namespace"`
	Name       string     `json:"name"`
	Creates    bool       `json:"creates"`
	Conflicts  []conflict `json:"conflicts"` // a forced apply takes these
	Shared     []shared   `json:"shared"`
	Dropped    []dropped  `json:"dropped"`
	Changes    []change   `json:"changes"` // of fields that nobody else owns
	Unsure     []doubt    `json:"unsure"`

	// Refused lists fields that the kind does not have, or that have a wrong type: the API
	// server would refuse the whole object, and the rest of the result is empty.
	Refused []refusal `json:"refused,omitempty"`

	// Takeover is what kubectl apply would do beside the apply.
	Takeover *takeover `json:"kubectlTakesOver,omitempty"`

	// crowd is lint's message about an object with many managers.
	crowd string
	lines fieldLines
}

type refusal struct {
	Path   string `json:"path"`
	Line   int    `json:"line"`
	Reason string `json:"reason"`
}

type conflict struct {
	Path       string         `json:"path"`
	ServerPath string         `json:"serverPath"`
	Line       int            `json:"line"`
	Owner      view.OwnerItem `json:"owner"`
	Ours       any            `json:"ours"`
	Theirs     any            `json:"theirs"`
}

type shared struct {
	Path  string         `json:"path"`
	Owner view.OwnerItem `json:"owner"`
}

type dropped struct {
	Path    string           `json:"path"`
	Removed bool             `json:"removed"` // the value goes, or the server's default takes its place
	KeptBy  []view.OwnerItem `json:"keptBy"`
}

type change struct {
	Path   string `json:"path"`
	Before any    `json:"before"`
	After  any    `json:"after"`
}

type doubt struct {
	Path   string `json:"path"`
	Line   int    `json:"line"`
	Reason string `json:"reason"`
	// Sharing reports whether only the sharing of the field is open.
	Sharing bool `json:"sharing,omitempty"`
}

func newResult(of objects.Item, live map[string]any) result {
	ref := view.RefOf(of.Content)
	item := result{
		File: of.File, APIVersion: ref.APIVersion, Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name,
		Conflicts: []conflict{}, Shared: []shared{}, Dropped: []dropped{}, Changes: []change{}, Unsure: []doubt{},
	}
	var ownership fieldowners.Ownership
	if live != nil {
		o := view.New(live)
		item.Namespace, ownership, item.crowd = o.Namespace, o.Ownership, crowdOf(live)
	}
	item.Takeover = takeoverOf(ownership, of.Content)
	item.lines = newFieldLines(of, ownership.Join(of.Content))
	item.Line = item.lines.first
	return item
}

// crowdOf returns lint's message about an object with many managers, and "" for any other.
// Managed fields that cannot be read are reported elsewhere.
func crowdOf(live map[string]any) string {
	entries, _ := fieldowners.EntriesOf(live)
	findings, _ := lint.Check(entries, lint.Facts{})
	for _, f := range findings {
		if f.Rule == lint.RuleManyManagers {
			return f.Message
		}
	}
	return ""
}

func (i *result) conflict(path fieldowners.Path, serverPath string, owner fieldowners.Manager, ours, theirs any) {
	i.Conflicts = append(i.Conflicts, conflict{path.String(), serverPath, i.lines.of(path), view.Owner(owner), ours, theirs})
}

// predicted fills in what Predict found.
func (i *result) predicted(p predict.Prediction) {
	i.Creates = p.Creates
	for _, c := range p.Conflicts {
		i.conflict(c.Path, c.Path.ServerString(), c.Owner, c.Ours, c.Theirs)
	}
	for _, o := range p.Shared {
		i.Shared = append(i.Shared, shared{o.Path.String(), view.Owner(o.Manager)})
	}
	for _, c := range p.Changes {
		i.Changes = append(i.Changes, change{c.Path.String(), c.Before, c.After})
	}
	for _, d := range p.Dropped {
		i.Dropped = append(i.Dropped, dropped{d.Path.String(), d.Removed, view.OwnersOf(d.KeptBy)})
	}
	for _, d := range p.Unsure {
		i.Unsure = append(i.Unsure, doubt{d.Path.String(), i.lines.of(d.Path), d.Reason, d.Sharing})
	}
}

// refuse records that the API server would refuse the object, so that nothing else comes of it.
func (i *result) refuse(path fieldowners.Path, reason string) {
	i.Refused = append(i.Refused, refusal{path.String(), i.lines.of(path), reason})
	i.Creates, i.Changes, i.Unsure = false, []change{}, []doubt{}
}

func (i *result) doubt(path fieldowners.Path, reason string) {
	i.Unsure = append(i.Unsure, doubt{Path: path.String(), Line: i.lines.of(path), Reason: reason})
}

// takeover is what kubectl apply --server-side does beside the apply, whatever its field
// manager (migrateToSSAIfNecessary in k8s.io/kubectl/pkg/cmd/apply): it takes over all that was
// written by client-side apply, and applies the file once more, which removes what the file
// does not list. Other clients do not do this.
type takeover struct {
	From    []view.OwnerItem `json:"from"`
	Removes []string         `json:"removes"` // paths, owned by nobody else
}

// String returns what kubectl would remove, and the owners of these fields.
func (t *takeover) String() string {
	var owners []string
	for _, o := range t.From {
		owners = append(owners, o.String())
	}
	return "kubectl apply, but no other client, would remove as well what the file does not list and " +
		strings.Join(owners, ", ") + " wrote by client-side apply"
}

// takeoverOf returns what kubectl would take over in a live object; nil for nothing.
func takeoverOf(live fieldowners.Ownership, intent map[string]any) *takeover {
	var found takeover
	for _, entry := range live.Entries() {
		if entry.Operation != metav1.ManagedFieldsOperationUpdate || entry.Subresource != "" || !entry.Owns(fieldowners.LastAppliedPath) {
			continue
		}
		found.From = append(found.From, view.Owner(entry.Manager))
		for _, path := range entry.Leaves() {
			if _, listed := path.Nearest(intent); !listed && !path.Equal(fieldowners.LastAppliedPath) && len(live.OwnersOf(path)) == 1 {
				found.Removes = append(found.Removes, path.String())
			}
		}
	}
	if len(found.Removes) == 0 {
		return nil
	}
	slices.Sort(found.Removes)
	return &found
}
