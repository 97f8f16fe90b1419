package check

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/dustin/go-humanize/english"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/apply"
	"coapply.dev/cmd/kubectl-fieldowners/internal/console"
	"coapply.dev/cmd/kubectl-fieldowners/internal/objects"
	"coapply.dev/cmd/kubectl-fieldowners/internal/view"
	"coapply.dev/fieldowners"
)

// list is the output of check -o json and -o yaml. The format is stable: fields may be added, but no
// field is renamed, removed or given another meaning.
type list struct {
	FieldManager string   `json:"fieldManager"`
	Items        []result `json:"items"`
}

// result describes what an apply of one object would do. Values of Secrets are hidden.
type result struct {
	File       string     `json:"file"`
	Line       int        `json:"line"` // the first line of the object's document
	APIVersion string     `json:"apiVersion"`
	Kind       string     `json:"kind"`
	Namespace  string     `json:"namespace"`
	Name       string     `json:"name"`
	Creates    bool       `json:"creates"`
	Computed   bool       `json:"computed"`                   // without the right to patch, or from files: not from a dry run by the API server
	Conflicts  []conflict `json:"conflicts"`                  // fields that a forced apply would take from their owners
	Shared     []shared   `json:"shared"`                     // fields that the apply would share with another manager
	Dropped    []dropped  `json:"dropped"`                    // fields that the manager applied before and the file no longer lists
	Changes    []change   `json:"changes"`                    // changed fields that no other manager owns
	Takeover   *takeover  `json:"kubectlTakesOver,omitempty"` // what kubectl apply would also remove, or nil
}

type conflict struct {
	Path       string         `json:"path"`
	ServerPath string         `json:"serverPath"`
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
	Removed bool             `json:"removed"` // the value is removed, or replaced by the API server's default
	KeptBy  []view.OwnerItem `json:"keptBy"`  // the other owners of the field, so that the field stays
}

type change struct {
	Path   string `json:"path"`
	Before any    `json:"before"`
	After  any    `json:"after"`
}

// newResult returns the result for the plan of an apply. live is nil if the object does not exist.
func newResult(of objects.Item, live map[string]any, plan apply.Plan, computed bool) result {
	ref := view.RefOf(of.Content)
	item := result{
		File: of.File, Line: of.Line, APIVersion: ref.APIVersion, Kind: ref.Kind, Namespace: plan.Object.Namespace, Name: ref.Name, Creates: plan.Action == apply.Created, Computed: computed,
		Conflicts: []conflict{}, Shared: []shared{}, Dropped: []dropped{}, Changes: []change{},
	}
	if live != nil {
		item.Takeover = takeoverOf(view.New(live).Ownership, of.Content)
	}
	for _, c := range plan.Conflicts {
		item.Conflicts = append(item.Conflicts, conflict{c.Path.String(), c.ServerPath, view.Owner(c.Manager), c.Ours, c.Theirs})
	}
	isConflict := func(path fieldowners.Path) bool {
		return slices.ContainsFunc(plan.Conflicts, func(c apply.Conflict) bool { return !c.Path.IsRoot() && path.HasPrefix(c.Path) })
	}
	for _, o := range plan.Shared {
		if !isConflict(o.Path) {
			item.Shared = append(item.Shared, shared{o.Path.String(), view.Owner(o.Manager)})
		}
	}
	for _, c := range plan.Changes {
		if !item.Creates && !isConflict(c.Path) {
			item.Changes = append(item.Changes, change{c.Path.String(), c.Before, c.After})
		}
	}
	for _, d := range plan.Dropped {
		item.Dropped = append(item.Dropped, dropped{d.Path.String(), !d.Stays, view.OwnersOf(d.Owners)})
	}
	return item
}

// takeover describes a side effect of kubectl apply --server-side (see migrateToSSAIfNecessary in
// k8s.io/kubectl/pkg/cmd/apply). kubectl takes over all fields that client-side apply wrote, and applies the file a
// second time. The second apply removes the taken-over fields that are not in the file. kubectl does this for every
// field manager; other clients do not.
type takeover struct {
	From    []view.OwnerItem `json:"from"`    // the managers whose fields kubectl takes over
	Removes []string         `json:"removes"` // the paths of the removed fields, which nobody else owns
}

// String returns the heading for the list of fields that kubectl would remove.
func (t *takeover) String() string {
	var owners []string
	for _, o := range t.From {
		owners = append(owners, o.String())
	}
	return "kubectl apply, but no other client, would also remove the fields that the file does not list and that " +
		strings.Join(owners, ", ") + " wrote by client-side apply"
}

// takeoverOf returns the takeover for a live object, or nil if kubectl would remove nothing.
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

func (c *command) print(items []result, failed bool) error {
	conflicts, takeovers := 0, 0
	for _, item := range items {
		conflicts += len(item.Conflicts)
		if item.Takeover != nil {
			takeovers++
		}
		if c.output == "text" {
			c.text(item)
		}
	}
	switch {
	case c.output == "markdown":
		c.markdown(items, failed)
	case c.output == "text" && len(items) > 1:
		fmt.Fprintln(c.Out, summary(items))
	}
	if err := c.Structured(c.output, list{FieldManager: c.manager, Items: items}); err != nil {
		return err
	}
	if takeovers > 0 {
		fmt.Fprintln(c.ErrOut, "warning: kubectl apply would remove more fields than an apply of these files by another client")
	}
	if conflicts > 0 {
		return console.ErrFound
	}
	return nil
}

func (c *command) text(item result) {
	palette := c.Screen(false).Palette
	verdict := "no conflict"
	switch {
	case len(item.Conflicts) > 0:
		verdict = english.Plural(len(item.Conflicts), "conflict", "")
	case item.Creates:
		verdict = "no conflict, the object would be created"
	}
	switch {
	case c.saved != nil:
		verdict += ", computed from files"
	case item.Computed:
		verdict += ", computed without a dry run, because you have no permission to patch"
	}
	fmt.Fprintln(c.Out, palette.Strong(item.ref()+": "+verdict))
	for _, conflict := range item.Conflicts {
		fmt.Fprintf(c.Out, "  %s\n", view.Safe(cmp.Or(conflict.Path, conflict.ServerPath)))
		fmt.Fprintf(c.Out, "      %s wants %s, %s has %s\n",
			view.Safe(c.manager), short(conflict.Ours), conflict.Owner.String(), short(conflict.Theirs))
	}
	c.section("becomes shared", texts(item.Shared, shared.String))
	c.section("given up, as not listed in the file", texts(item.Dropped, dropped.String))
	c.section("changes", texts(item.Changes, change.String))
	if t := item.Takeover; t != nil {
		c.section(t.String(), texts(t.Removes, view.Safe))
	}
}

func (c *command) section(heading string, lines []string) {
	if len(lines) == 0 {
		return
	}
	fmt.Fprintln(c.Out, "  "+heading+":")
	for _, line := range lines {
		fmt.Fprintln(c.Out, "    "+line)
	}
}

func texts[T any](all []T, text func(T) string) (lines []string) {
	for _, one := range all {
		lines = append(lines, text(one))
	}
	return lines
}

func (s shared) String() string { return view.Safe(s.Path) + " with " + s.Owner.String() }

func (d dropped) String() string {
	fate := "stays on the object"
	switch {
	case d.Removed:
		fate = "is removed from the object"
	case len(d.KeptBy) > 0:
		fate = "stays with"
		for _, owner := range d.KeptBy {
			fate += " " + owner.String()
		}
	}
	return view.Safe(d.Path) + " " + fate
}

func (c change) String() string {
	return fmt.Sprintf("%s: %s -> %s", view.Safe(c.Path), short(c.Before), short(c.After))
}

// short returns a value as text of at most 60 characters; "nothing" for nil.
func short(v any) string {
	if v == nil {
		return "nothing"
	}
	return view.CutOff(fieldowners.FormatValue(v), 60)
}
