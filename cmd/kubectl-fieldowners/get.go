package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/cmd/kubectl-fieldowners/internal/ownerview"
	"coapply.dev/fieldowners"
)

type getCommand struct {
	*plugin
	selection

	files     []string
	output    string
	noHeaders bool
	path      string
	operation string
	filter    ownerview.Filter
}

var getOutputs = []string{"tree", "table", "wide", "json", "yaml", "name", "html"}

func newGet(p *plugin) *cobra.Command {
	g := &getCommand{plugin: p}
	cmd := &cobra.Command{
		Use:   "get (TYPE/NAME ... | TYPE [NAME ...] | -f FILE)",
		Short: "Show objects with the owners of each field (the default command)",
		Long: `Show objects with the owners of each field.

The tree is the object as YAML, with the owners of each field as a comment behind it,
by which operation they wrote, and how long ago: several names own the field together;
(names) in parentheses own that a map, a list or a list item exists; nobody stands
where the API server recorded no owner, as for its own defaults. Fields without a
comment are kept by the API server itself. On a narrow terminal the names stand alone.

Files are read as they are, without a cluster. Save them with --show-managed-fields.`,
		Example: `  kubectl fieldowners deployment/web
  kubectl fieldowners deployment/web --path .spec.replicas -o table
  kubectl fieldowners deployments --manager helm --operation Update -o name -A
  kubectl fieldowners deployment/web -o html > web.html
  kubectl get deployment web -o yaml --show-managed-fields | kubectl fieldowners -f -`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return g.run(cmd, args) },
	}
	flags := cmd.Flags()
	flags.StringSliceVarP(&g.files, "filename", "f", nil, "read objects from `files`, - for stdin, instead of a cluster")
	flags.StringVarP(&g.output, "output", "o", "tree", strings.Join(getOutputs, ", "))
	flags.BoolVar(&g.noHeaders, "no-headers", false, "leave out the legend, or the header of a table")
	flags.StringVar(&g.path, "path", "", "only this `field` and what is below it, such as .spec.replicas or "+examplePath)
	flags.StringSliceVar(&g.filter.Managers, "manager", nil, "only fields owned by one of these field `managers`")
	flags.StringVar(&g.operation, "operation", "", "only fields owned by `Apply` or Update")
	flags.BoolVar(&g.filter.Shared, "shared", false, "only fields with several owners")
	flags.BoolVar(&g.filter.Unowned, "unowned", false, "only fields that nobody owns")
	g.selection.addFlags(cmd)
	p.completeObjects(cmd)
	completeValues(cmd, "output", getOutputs...)
	completeValues(cmd, "operation", "Apply", "Update")
	return cmd
}

const examplePath = `'.spec.template.spec.containers[name="web"].image'`

func (s *selection) addFlags(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&s.selector, "selector", "l", "", "only objects with these `labels`, as for kubectl get")
	cmd.Flags().StringVar(&s.fieldSelector, "field-selector", "", "only objects with these `fields`, as for kubectl get")
	cmd.Flags().BoolVarP(&s.allNamespaces, "all-namespaces", "A", false, "objects of all namespaces")
}

func (g *getCommand) run(cmd *cobra.Command, args []string) error {
	if err := g.validate(cmd, args); err != nil {
		return err
	}
	printer := g.newPrinter()
	read := func(object map[string]any) { printer.print(ownerview.New(object)) }
	var err error
	if len(g.files) > 0 {
		err = g.readFiles(g.files, func(_ string, object map[string]any) error { read(object); return nil })
	} else {
		err = g.readCluster(args, g.selection, func(object map[string]any) error { read(object); return nil })
	}
	if printing := printer.close(cmd, err); printing != nil { // what was read is shown, whatever came then
		return errors.Join(err, printing)
	}
	if err == nil {
		err = printer.summary()
	}
	return err
}

func (g *getCommand) validate(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0 && len(g.files) == 0:
		return usageError(cmd, "which object? Name one, such as deployment/web, or read a file by -f")
	case len(args) > 0 && len(g.files) > 0:
		return usageError(cmd, "%q beside -f: objects come either from files or from a cluster", args[0])
	case len(g.files) > 0 && (g.selector != "" || g.fieldSelector != "" || g.allNamespaces):
		return usageError(cmd, "-l, --field-selector and -A select objects of a cluster, not of files")
	case !slices.Contains(getOutputs, g.output):
		return usageError(cmd, "-o is %q, want one of %s", g.output, strings.Join(getOutputs, ", "))
	case g.filter.Shared && g.filter.Unowned:
		return usageError(cmd, "no field is both --shared and --unowned")
	case g.filter.Unowned && (len(g.filter.Managers) > 0 || g.operation != ""):
		return usageError(cmd, "--unowned fields have neither --manager nor --operation")
	}
	var err error
	g.filter.Operation, err = operation(cmd, g.operation)
	return err
}

func operation(cmd *cobra.Command, text string) (metav1.ManagedFieldsOperationType, error) {
	for _, known := range []metav1.ManagedFieldsOperationType{"", metav1.ManagedFieldsOperationApply, metav1.ManagedFieldsOperationUpdate} {
		if strings.EqualFold(text, string(known)) {
			return known, nil
		}
	}
	return "", usageError(cmd, "--operation is %q, want Apply or Update", text)
}

// tell says on stderr what must not be missed about an object, whatever the output,
// and reports whether all of its entries could be read.
func (p *plugin) tell(o *ownerview.Object) (complete bool) {
	for _, err := range o.Unread {
		fmt.Fprintf(p.ErrOut, "error: %s: %s\n", o, ownerview.Safe(err.Error()))
	}
	if o.Deep {
		fmt.Fprintf(p.ErrOut, "warning: %s: nested deeper than %d levels: what lies below is shown as one value\n", o, fieldowners.MaxDepth)
	}
	if o.Absent {
		fmt.Fprintf(p.ErrOut, "%s: managedFields absent: ask with --show-managed-fields\n", o)
	}
	return len(o.Unread) == 0
}
