package show

import (
	"fmt"
	"os"
	"regexp"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"coapply.dev/cmd/kubectl-fieldowners/internal/console"
	"coapply.dev/cmd/kubectl-fieldowners/internal/objects"
	"coapply.dev/cmd/kubectl-fieldowners/internal/view"
	"coapply.dev/fieldowners"
)

type diffCommand struct {
	*objects.Reader

	output string
	screen view.Screen
}

// NewDiff returns the command diff.
func NewDiff(p *objects.Reader) *cobra.Command {
	d := &diffCommand{Reader: p, output: "text"}
	cmd := &cobra.Command{
		Use:   "diff BEFORE [AFTER]",
		Short: "Compare who owned what with who owns it now, or in another saved version",
		Long: `Compare who owned what with who owns it: which fields a manager gained, which it lost,
and which moved from one to another.

BEFORE and AFTER are files, - for stdin, or TYPE/NAME for a live object. Without AFTER
each object of BEFORE is compared with the live one of its kind, namespace and name.
Values are not compared: kubectl diff does that.

A manager is known by its name, operation and subresource. It has lost a field also
when it keeps others below the same parent.

Exit codes: 0 the same owners, 1 a difference, 2 an error.`,
		Example: `  kubectl get deployment web -o yaml --show-managed-fields > before.yaml
  kubectl fieldowners diff before.yaml                 # with the live object
  kubectl fieldowners diff before.yaml after.yaml
  kubectl fieldowners diff deployment/blue deployment/green`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return d.run(cmd, args) },
	}
	console.OneOf(cmd, cmd.Flags(), &d.output, "output", "o", "", "text", "json", "yaml")
	return cmd
}

func (d *diffCommand) run(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return console.UsageError(cmd, "which versions? Name a file, or two")
	case len(args) > 2:
		return console.UsageError(cmd, "%d versions, and only two can be compared", len(args))
	}
	d.screen = d.Screen(false)
	before, err := d.version(args[0])
	if err != nil {
		return err
	}
	var after []*view.Object
	if len(args) == 2 {
		after, err = d.version(args[1])
	} else {
		after, err = d.liveOf(before)
	}
	if err != nil {
		return err
	}
	return d.print(pair(before, after))
}

var typeAndName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9.-]*/[A-Za-z0-9][A-Za-z0-9.:-]*$`)

// version returns the objects of a file or of the cluster.
func (d *diffCommand) version(name string) ([]*view.Object, error) {
	var all []*view.Object
	var unreadable error
	_, notThere := os.Stat(name)
	live := name != "-" && notThere != nil && typeAndName.MatchString(name)
	add := func(content map[string]any) {
		o := view.New(content)
		if o.Live = live; !tell(d.ErrOut, o) { // a part of an object would look like a difference
			unreadable = console.ErrSaid
		}
		all = append(all, o)
	}
	var err error
	if live {
		err = d.ReadCluster([]string{name}, objects.Selection{}, add)
	} else {
		err = d.ReadFiles([]string{name}, func(item objects.Item) error { add(item.Content); return nil })
	}
	if err == nil {
		err = unreadable
	}
	return all, err
}

// liveOf returns the live versions of saved objects, without those that are gone.
func (d *diffCommand) liveOf(saved []*view.Object) ([]*view.Object, error) {
	var live []*view.Object
	for _, o := range saved {
		content, err := d.Counterpart(o.GVK(), o.Namespace, o.Name)
		if err != nil {
			return nil, err
		}
		if content == nil {
			continue
		}
		now := view.New(content)
		if now.Live = true; !tell(d.ErrOut, now) {
			return nil, console.ErrSaid
		}
		o.Namespace = now.Namespace // the command line's, if the file has none
		live = append(live, now)
	}
	return live, nil
}

// compared is one object in two versions; nil if it does not exist in one.
type compared struct {
	before, after *view.Object
}

// pair returns the two versions of each object. If there is one object on each side, these are
// a pair whatever their names.
func pair(before, after []*view.Object) []compared {
	if len(before) == 1 && len(after) == 1 {
		return []compared{{before[0], after[0]}}
	}
	type key struct {
		schema.GroupKind
		namespace, name string
	}
	keyOf := func(o *view.Object) key { return key{o.GVK().GroupKind(), o.Namespace, o.Name} }
	var pairs []compared
	places := map[key]int{}
	for _, o := range before {
		places[keyOf(o)] = len(pairs)
		pairs = append(pairs, compared{before: o})
	}
	for _, o := range after {
		if at, known := places[keyOf(o)]; known {
			pairs[at].after = o
			continue
		}
		pairs = append(pairs, compared{after: o})
	}
	return pairs
}

func (d *diffCommand) print(pairs []compared) error {
	list := view.List[view.DiffItem]{Items: []view.DiffItem{}}
	for _, c := range pairs {
		before, after := ownersOf(c.before), ownersOf(c.after)
		difference := fieldowners.Diff(before, after)
		if difference.IsEmpty() && (c.before == nil) == (c.after == nil) {
			continue
		}
		item := view.NewDiffItem(c.before, c.after, difference)
		list.Items = append(list.Items, item)
		if d.output == "text" {
			d.screen.Difference(d.Out, item)
		}
	}
	if err := d.Structured(d.output, list); err != nil {
		return err
	}
	if len(list.Items) > 0 {
		return console.ErrFound
	}
	fmt.Fprintln(d.ErrOut, "The same owners.")
	return nil
}

func ownersOf(o *view.Object) fieldowners.Ownership {
	if o == nil {
		return fieldowners.Ownership{}
	}
	return o.Ownership
}
