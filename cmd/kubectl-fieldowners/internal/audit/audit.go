// Package audit implements the command audit of the plugin. The command reads the objects of a cluster or of files, and
// prints a report on their field managers. Package owneraudit computes the report.
package audit

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"coapply.dev/cmd/kubectl-fieldowners/internal/console"
	"coapply.dev/cmd/kubectl-fieldowners/internal/contracts"
	"coapply.dev/cmd/kubectl-fieldowners/internal/objects"
	"coapply.dev/cmd/kubectl-fieldowners/internal/owneraudit"
	"coapply.dev/cmd/kubectl-fieldowners/internal/view"
	"coapply.dev/cmd/kubectl-fieldowners/lint"
	"coapply.dev/fieldowners"
	"coapply.dev/fieldowners/contract"
)

type auditor struct {
	*objects.Reader
	objects.Source

	output    string
	noHeaders bool
	contract  string

	audit *owneraudit.Audit
}

// New returns the cobra command for "kubectl fieldowners audit".
func New(p *objects.Reader) *cobra.Command {
	a := &auditor{Reader: p, output: "table"}
	cmd := &cobra.Command{
		Use:   "audit [TYPE ... | -f FILE]",
		Short: "Summarise who writes to many objects, and find problems in their managed fields",
		Long: `Summarise which field managers write to many objects. Report problems in the managed
fields of the objects, with commands that solve the problems. Without TYPE, audit reads
every kind that can be listed and patched, except events. From a cluster, audit reads only
the metadata of objects.

Exit codes: 0 no findings, 1 findings, 2 not everything could be read.`,
		Example: `  kubectl fieldowners audit -A                           # the whole cluster
  kubectl fieldowners audit deployments,pods -l team=shop -o wide
  kubectl fieldowners audit -A --contract contract.yaml  # managers that violate a contract
  kubectl get all -o yaml --show-managed-fields | kubectl fieldowners audit -f -`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return a.run(cmd, args) },
	}
	flags := cmd.Flags()
	console.OneOf(cmd, flags, &a.output, "output", "o", "", "table", "wide", "json", "yaml", "name", "html")
	flags.BoolVar(&a.noHeaders, "no-headers", false, "leave out the headers of tables")
	flags.StringVar(&a.contract, "contract", "", "compare the objects with the contract in this `file`, - for stdin")
	console.Complete(cmd, "contract", cobra.FixedCompletions([]string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt))
	a.Source.AddFlags(cmd)
	p.CompleteObjects(cmd)
	complete := cmd.ValidArgsFunction
	cmd.ValidArgsFunction = func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return complete(cmd, nil, typed) // every argument is a kind
	}
	return cmd
}

func (a *auditor) validate(cmd *cobra.Command, args []string) error {
	for _, arg := range args {
		if strings.Contains(arg, "/") {
			return console.UsageError(cmd, "%q names an object, but audit reads whole kinds; for one object, run %s %s", arg, console.Name, arg)
		}
	}
	if err := a.Check(cmd, args); err != nil {
		return err
	}
	if a.contract == "-" && slices.Contains(a.Files, "-") {
		return console.UsageError(cmd, "--contract and -f both read stdin: put one of them into a file")
	}
	return nil
}

func (a *auditor) run(cmd *cobra.Command, args []string) error {
	if err := a.validate(cmd, args); err != nil {
		return err
	}
	a.audit = owneraudit.New()
	if err := a.holdContract(); err != nil {
		return err
	}
	read := func() error { return a.readCluster(cmd.Context(), args) }
	if len(a.Files) > 0 {
		read = a.readFiles
	}
	err := read()
	if err != nil && a.audit.Objects() == 0 {
		return err
	}
	report := a.audit.Report(err == nil)
	a.note(report)
	if printing := a.print(cmd, report, err); printing != nil {
		return printing
	}
	switch {
	case err != nil: // the objects that could be read were printed anyway
		return err
	case !report.Complete, len(a.Files) > 0 && report.ManagedFieldsAbsent > 0: // the object may have managed fields that the file lacks
		return console.ErrSaid
	case len(report.Findings) > 0:
		return console.ErrFound
	}
	return nil
}

func (a *auditor) add(o owneraudit.Object) {
	if a.audit.Add(o) && a.output == "name" {
		fmt.Fprintln(a.Out, o.Resource())
	}
}

func (a *auditor) readFiles() error {
	return a.ReadFiles(a.Files, func(item objects.Item) error {
		content := item.Content
		entries, unread := fieldowners.EntriesOf(content)
		whole, err := json.Marshal(content)
		if err != nil {
			return err
		}
		var facts lint.Facts
		if len(whole) >= small {
			facts.ObjectBytes = len(whole)
		}
		labels := (&unstructured.Unstructured{Object: content}).GetLabels()
		a.add(owneraudit.Object{Ref: view.RefOf(content), Labels: labels, ManagedFields: entries, Unread: unread, Facts: facts})
		return nil
	})
}

// small is the size in bytes below which the audit does not report an object's managed fields as large. In smaller
// objects, managed fields are usually more than half of the bytes, which does no harm.
const small = 4 << 10

// holdContract reads the contract from the file in --contract, so that the audit reports violations of the contract.
func (a *auditor) holdContract() error {
	if a.contract == "" {
		return nil
	}
	read, err := contracts.Read(a.Reader, a.contract)
	if err != nil {
		return err
	}
	comparer, err := contract.NewComparer(read)
	a.audit.Compare(comparer)
	return err
}
