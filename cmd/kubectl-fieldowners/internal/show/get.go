// Package show implements the commands get and explain of the plugin. The command get shows the
// owners of each field, and explain shows what a conflict means and how to resolve it.
package show

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"coapply.dev/cmd/kubectl-fieldowners/internal/console"
	"coapply.dev/cmd/kubectl-fieldowners/internal/objects"
	"coapply.dev/cmd/kubectl-fieldowners/internal/view"
	"coapply.dev/fieldowners"
)

type getCommand struct {
	*objects.Reader
	objects.Source

	output    string
	noHeaders bool
	path      string
	filter    view.Filter
}

// NewGet returns the cobra command for "kubectl fieldowners get".
func NewGet(p *objects.Reader) *cobra.Command {
	g := &getCommand{Reader: p, output: "tree"}
	cmd := &cobra.Command{
		Use:   "get (TYPE/NAME ... | TYPE [NAME ...] | -f FILE)",
		Short: "Show objects with the owners of each field (the default command)",
		Long: `Show objects as YAML. A comment beside each field names the owners and their operations.
A field with several owners is shared. Owners in parentheses own only the existence of a
map, list or item. "nobody" means that the API server recorded no owner.`,
		Example: `  kubectl fieldowners deployment/web
  kubectl fieldowners deployment/web --path .spec.replicas -o table
  kubectl fieldowners deployments --manager helm --operation Update -o name -A
  kubectl get deployment web -o yaml --show-managed-fields | kubectl fieldowners -f -`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return g.run(cmd, args) },
	}
	flags := cmd.Flags()
	console.OneOf(cmd, flags, &g.output, "output", "o", "", "tree", "table", "wide", "json", "yaml", "name", "html")
	flags.BoolVar(&g.noHeaders, "no-headers", false, "leave out the legend, or the header of a table")
	flags.StringVar(&g.path, "path", "", "only this `field` and the fields below, such as .spec.replicas")
	flags.StringSliceVar(&g.filter.Managers, "manager", nil, "only fields owned by one of these field `managers`")
	console.OneOf(cmd, flags, &g.filter.Operation, "operation", "", "only fields owned by `Apply` or Update", "Apply", "Update")
	flags.BoolVar(&g.filter.Shared, "shared", false, "only fields with several owners")
	flags.BoolVar(&g.filter.Unowned, "unowned", false, "only fields that nobody owns")
	g.Source.AddFlags(cmd)
	p.CompleteObjects(cmd)
	return cmd
}

func (g *getCommand) run(cmd *cobra.Command, args []string) error {
	if err := g.validate(cmd, args); err != nil {
		return err
	}
	printer := g.newPrinter()
	read := func(object map[string]any) {
		o := view.New(object)
		o.Live = len(g.Files) == 0
		printer.print(o)
	}
	var err error
	if len(g.Files) > 0 {
		err = g.ReadFiles(g.Files, func(item objects.Item) error { read(item.Content); return nil })
	} else {
		err = g.ReadCluster(args, g.Selection, read)
	}
	if printing := printer.close(cmd, err); printing != nil { // objects that could be read are printed even after an error
		return errors.Join(err, printing)
	}
	if err == nil {
		err = printer.summary()
	}
	return err
}

func (g *getCommand) validate(cmd *cobra.Command, args []string) error {
	if len(args) == 0 && len(g.Files) == 0 {
		return console.UsageError(cmd, "no object is named: name an object, such as deployment/web, or a file by -f")
	}
	if err := g.Check(cmd, args); err != nil {
		return err
	}
	switch {
	case g.filter.Shared && g.filter.Unowned:
		return console.UsageError(cmd, "no field is both --shared and --unowned")
	case g.filter.Unowned && (len(g.filter.Managers) > 0 || g.filter.Operation != ""):
		return console.UsageError(cmd, "--unowned cannot be used with --manager or --operation: a field without an owner has neither")
	}
	return nil
}

// tell prints the errors and warnings about an object, and reports whether the owners of all its fields are known.
func tell(w io.Writer, o *view.Object) (complete bool) {
	for _, err := range o.Unread {
		fmt.Fprintf(w, "error: %s: %s\n", o, view.Safe(err.Error()))
	}
	if o.Deep {
		fmt.Fprintf(w, "warning: %s: nested deeper than %d levels: the content below is shown as one value\n", o, fieldowners.MaxDepth)
	}
	if o.Absent {
		fmt.Fprintf(w, "%s: %s\n", o, o.Absence())
	}
	return len(o.Unread) == 0 && (o.Live || !o.Absent)
}
