package console

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"coapply.dev/cmd/kubectl-fieldowners/internal/ownerview"
)

// ExamplePath is how --help shows a path through a list.
const ExamplePath = `'.spec.template.spec.containers[name="web"].image'`

// UsageError returns what is wrong with the command line, and where to read more.
func UsageError(cmd *cobra.Command, format string, args ...any) error {
	return fmt.Errorf("%w; see %s --help", fmt.Errorf(format, args...), cmd.CommandPath())
}

// NoArgs refuses arguments.
func NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return UsageError(cmd, "%q is too much: the command takes no arguments", args[0])
	}
	return nil
}

// Complete has a flag completed. It panics for a flag that the command does not have, which any
// test finds.
func Complete(cmd *cobra.Command, flag string, complete cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, complete); err != nil {
		panic(err)
	}
}

// CompleteValues has a flag completed that takes one of several values.
func CompleteValues(cmd *cobra.Command, flag string, values ...string) {
	Complete(cmd, flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

// printedForm is how reports show a manager: with its operation and its subresource.
var printedForm = regexp.MustCompile(`^(.+)/(Apply|Update)(\[[^\]]*\])?$`)

// CheckManager refuses what cannot be the name of a field manager.
func CheckManager(cmd *cobra.Command, flag, name string) error {
	if name == "" {
		return UsageError(cmd, "--%s: the name of a field manager is needed", flag)
	}
	if parts := printedForm.FindStringSubmatch(name); parts != nil {
		return UsageError(cmd, "--%s is %s: the operation is no part of the name, write %s", flag, ownerview.Safe(name), ownerview.Safe(parts[1]))
	}
	if invalid := validation.ValidateFieldManager(name, field.NewPath("--"+flag)); len(invalid) > 0 {
		return UsageError(cmd, "%w", invalid.ToAggregate())
	}
	return nil
}

// Operation returns the operation that --operation names, in any case of letters; "" stays.
func Operation(cmd *cobra.Command, text string) (metav1.ManagedFieldsOperationType, error) {
	known := []metav1.ManagedFieldsOperationType{"", metav1.ManagedFieldsOperationApply, metav1.ManagedFieldsOperationUpdate}
	at := slices.IndexFunc(known, func(o metav1.ManagedFieldsOperationType) bool { return strings.EqualFold(text, string(o)) })
	if at < 0 {
		return "", UsageError(cmd, "--operation is %q, want Apply or Update", text)
	}
	return known[at], nil
}
