package audit

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"coapply.dev/cmd/kubectl-fieldowners/internal/console"
	"coapply.dev/cmd/kubectl-fieldowners/internal/owneraudit"
	"coapply.dev/cmd/kubectl-fieldowners/internal/page"
	"coapply.dev/cmd/kubectl-fieldowners/internal/view"
)

// note prints the errors and warnings about a report on stderr. They are printed for every output format.
func (a *auditor) note(r owneraudit.Report) {
	_, width := console.TerminalOf(a.ErrOut)
	for _, problem := range r.Problems { // a long problem may name all kinds
		fmt.Fprintln(a.ErrOut, view.Wrap("error: "+view.Visible(problem), "", width))
	}
	if more := r.ProblemCount - len(r.Problems); more > 0 {
		fmt.Fprintf(a.ErrOut, "error: further errors that are not shown: %d\n", more)
	}
	for _, list := range r.Lists {
		if !list.Snapshot && list.Error == "" {
			fmt.Fprintf(a.ErrOut, "%s: the list is not a consistent snapshot: reading the list took longer than the API server keeps old versions\n", list.Resource)
		}
	}
	if r.ManagedFieldsAbsent > 0 {
		advice := "run kubectl get with --show-managed-fields"
		if len(a.Files) == 0 {
			advice = "the API server has none"
		}
		fmt.Fprintf(a.ErrOut, "managedFields absent on %d of %d objects (%s): %s\n", r.ManagedFieldsAbsent, r.Objects, absentOnes(r), advice)
	}
	if r.LeftOut != (owneraudit.LeftOut{}) {
		fmt.Fprintf(a.ErrOut, "the report is too long, so parts are left out: %d manager entries, %d findings\n",
			r.LeftOut.Managers, r.LeftOut.Findings)
	}
	switch {
	case r.Objects == 0 && r.ProblemCount > 0:
		fmt.Fprintln(a.ErrOut, "Nothing could be read.")
	case r.Objects == 0:
		fmt.Fprintln(a.ErrOut, "No objects found.")
	case len(r.Findings) == 0 && r.Objects > r.ManagedFieldsAbsent:
		fmt.Fprintln(a.ErrOut, "No findings.")
	}
}

// absentOnes returns examples of objects without managed fields, such as "Pod shop/a, Pod shop/b, and 3 more".
func absentOnes(r owneraudit.Report) string {
	var names []string
	for _, example := range r.AbsentExamples {
		names = append(names, example.String())
	}
	if more := r.ManagedFieldsAbsent - len(names); more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}

// print prints the report. The given error is the reason why the report is incomplete, or nil.
func (a *auditor) print(cmd *cobra.Command, r owneraudit.Report, reading error) error {
	switch a.output {
	case "html":
		return page.Audit(a.Out, page.NewAbout(a.Reader, cmd, a.Source, reading), r)
	case "table", "wide":
		owneraudit.Print(a.Out, r, a.Screen(a.noHeaders), a.output == "wide")
	}
	return a.Structured(a.output, r)
}
