package main

import (
	"fmt"

	"coapply.dev/cmd/kubectl-fieldowners/internal/ownerview"
	"coapply.dev/fieldowners/explain"
)

// explainList is what explain -o json and -o yaml print. It is stable: fields may be
// added, none is renamed, removed or given another meaning.
type explainList struct {
	Items []explainItem `json:"items"` // one for each answer
}

// explainItem is one answer. The object is empty where nothing says which it is.
type explainItem struct {
	Group     string            `json:"group"`
	Kind      string            `json:"kind"`
	Namespace string            `json:"namespace"`
	Name      string            `json:"name"`
	Conflicts []explainConflict `json:"conflicts"`
	Look      string            `json:"look"`
	Ways      []explainWay      `json:"ways"` // force, leave out, share
}

// explainConflict is one field and one owner of it. Values of Secrets are hidden.
type explainConflict struct {
	Path       string              `json:"path"` // empty: only the server's string is known
	ServerPath string              `json:"serverPath"`
	Owner      ownerview.OwnerItem `json:"owner"`
	Ours       *any                `json:"ours,omitempty"` // only where it is known
	Theirs     *any                `json:"theirs,omitempty"`
}

type explainWay struct {
	Title   string `json:"title"`
	Why     string `json:"why"`
	Command string `json:"command"` // empty where kubectl cannot do it
	Go      string `json:"go"`
}

func (e *explainCommand) print(explanations []explain.Explanation) error {
	if e.output != "text" {
		list := explainList{Items: []explainItem{}}
		for _, x := range explanations {
			list.Items = append(list.Items, newExplainItem(x))
		}
		return e.Structured(e.output, list)
	}
	for i, x := range explanations {
		if i > 0 {
			fmt.Fprintln(e.Out)
		}
		if len(explanations) > 1 {
			fmt.Fprintf(e.Out, "Answer %d of %d: ", i+1, len(explanations))
		}
		if _, err := fmt.Fprint(e.Out, x); err != nil {
			return err
		}
	}
	return nil
}

func newExplainItem(x explain.Explanation) explainItem {
	item := explainItem{
		Group: x.Object.Group, Kind: x.Object.Kind, Namespace: x.Object.Namespace, Name: x.Object.Name, Look: x.Look,
	}
	for _, c := range x.Conflicts {
		conflict := explainConflict{Path: c.Path.String(), ServerPath: c.ServerPath, Owner: ownerview.Owner(c.Owner)}
		if c.OursKnown {
			conflict.Ours = new(c.Ours)
		}
		if c.TheirsKnown {
			conflict.Theirs = new(c.Theirs)
		}
		item.Conflicts = append(item.Conflicts, conflict)
	}
	for _, w := range x.Ways {
		item.Ways = append(item.Ways, explainWay(w))
	}
	return item
}
