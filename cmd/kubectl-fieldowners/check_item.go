package main

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"coapply.dev/cmd/kubectl-fieldowners/internal/objects"
	"coapply.dev/cmd/kubectl-fieldowners/internal/ownerview"
	"coapply.dev/fieldowners"
	"coapply.dev/fieldowners/lint"
	"coapply.dev/fieldowners/predict"
)

// checkList is what check -o json and -o yaml print. It is stable: fields may be
// added, none is renamed, removed or given another meaning.
type checkList struct {
	FieldManager string      `json:"fieldManager"`
	Server       bool        `json:"server"` // asked by a dry run, not predicted
	Items        []checkItem `json:"items"`
}

// checkItem is what an apply of one object would meet. Values of Secrets are hidden.
type checkItem struct {
	File       string          `json:"file"`
	Line       int             `json:"line"`
	APIVersion string          `json:"apiVersion"`
	Kind       string          `json:"kind"`
	Namespace  string          `json:"namespace"`
	Name       string          `json:"name"`
	Creates    bool            `json:"creates"`
	Conflicts  []checkConflict `json:"conflicts"` // a forced apply takes these
	Shared     []checkShared   `json:"shared"`
	Dropped    []checkDropped  `json:"dropped"`
	Changes    []checkChange   `json:"changes"` // of fields that nobody else owns
	Unsure     []checkUnsure   `json:"unsure"`

	// Refused are fields that the kind does not have, or not so: the API server refuses
	// the whole object, and nothing else is told of it.
	Refused []checkRefused `json:"refused,omitempty"`

	// Takeover is what kubectl apply would do beside that.
	Takeover *checkTakeover `json:"kubectlTakesOver,omitempty"`

	// crowd is what Lint says of an object with many managers.
	crowd string
	lines fieldLines
	root  fieldowners.Field // the intent
}

type checkRefused struct {
	Path   string `json:"path"`
	Line   int    `json:"line"`
	Reason string `json:"reason"`
}

type checkConflict struct {
	Path       string              `json:"path"`
	ServerPath string              `json:"serverPath"`
	Line       int                 `json:"line"`
	Owner      ownerview.OwnerItem `json:"owner"`
	Ours       any                 `json:"ours"`
	Theirs     any                 `json:"theirs"`
}

type checkShared struct {
	Path  string              `json:"path"`
	Owner ownerview.OwnerItem `json:"owner"`
}

type checkDropped struct {
	Path    string                `json:"path"`
	Removed bool                  `json:"removed"` // the value goes, or the server's default takes its place
	KeptBy  []ownerview.OwnerItem `json:"keptBy"`
}

type checkChange struct {
	Path   string `json:"path"`
	Before any    `json:"before"`
	After  any    `json:"after"`
}

type checkUnsure struct {
	Path   string `json:"path"`
	Line   int    `json:"line"`
	Reason string `json:"reason"`
	// Sharing: open is no more than who shares the field.
	Sharing bool `json:"sharing,omitempty"`
}

func newCheckItem(of objects.Item, live map[string]any) checkItem {
	intent := of.Content
	object := unstructured.Unstructured{Object: intent}
	item := checkItem{
		File: of.File, APIVersion: object.GetAPIVersion(), Kind: object.GetKind(),
		Namespace: object.GetNamespace(), Name: object.GetName(),
		Conflicts: []checkConflict{}, Shared: []checkShared{}, Dropped: []checkDropped{}, Changes: []checkChange{}, Unsure: []checkUnsure{},
	}
	var ownership fieldowners.Ownership
	if live != nil {
		item.Namespace = (&unstructured.Unstructured{Object: live}).GetNamespace()
		ownership = ownerview.New(live).Ownership
		item.crowd = crowdOf(live)
	}
	item.Takeover = takeover(ownership, intent)
	item.root = ownership.Join(intent)
	item.lines = newFieldLines(of, item.root)
	item.Line = item.lines.first
	return item
}

// crowdOf says that an object has many managers; "" that it has not. What cannot be
// read is told elsewhere.
func crowdOf(live map[string]any) string {
	findings, _ := lint.Check((&unstructured.Unstructured{Object: live}).GetManagedFields(), lint.Facts{})
	for _, f := range findings {
		if f.Rule == lint.RuleManyManagers {
			return f.Message
		}
	}
	return ""
}

func (i *checkItem) conflict(path fieldowners.Path, serverPath string, owner fieldowners.Manager, ours, theirs any) {
	i.Conflicts = append(i.Conflicts, checkConflict{path.String(), serverPath, i.lines.of(path), ownerview.Owner(owner), ours, theirs})
}

func (i *checkItem) changed(all []fieldowners.Change) {
	for _, c := range all {
		i.Changes = append(i.Changes, checkChange{c.Path.String(), c.Before, c.After})
	}
}

func (i *checkItem) dropped(path fieldowners.Path, removed bool, keptBy []fieldowners.Manager) {
	dropped := checkDropped{Path: path.String(), Removed: removed, KeptBy: []ownerview.OwnerItem{}}
	for _, m := range keptBy {
		dropped.KeptBy = append(dropped.KeptBy, ownerview.Owner(m))
	}
	i.Dropped = append(i.Dropped, dropped)
}

func (i *checkItem) shared(all []fieldowners.Owned) {
	for _, o := range all {
		i.Shared = append(i.Shared, checkShared{o.Path.String(), ownerview.Owner(o.Manager)})
	}
}

// predicted fills in what Predict found.
func (i *checkItem) predicted(p predict.Prediction) {
	i.Creates = p.Creates
	for _, c := range p.Conflicts {
		i.conflict(c.Path, c.Path.ServerString(), c.Owner, c.Ours, c.Theirs)
	}
	i.shared(p.Shared)
	i.changed(p.Changes)
	for _, d := range p.Dropped {
		i.dropped(d.Path, d.Removed, d.KeptBy)
	}
	for _, d := range p.Unsure {
		i.Unsure = append(i.Unsure, checkUnsure{d.Path.String(), i.lines.of(d.Path), d.Reason, d.Sharing})
	}
}

func (i *checkItem) doubt(path fieldowners.Path, reason string) {
	i.Unsure = append(i.Unsure, checkUnsure{Path: path.String(), Line: i.lines.of(path), Reason: reason})
}
