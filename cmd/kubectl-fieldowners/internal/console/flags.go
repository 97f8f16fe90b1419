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

// ExamplePath is the example in --help of a path through a list.
const ExamplePath = `'.spec.template.spec.containers[name="web"].image'`

// UsageError returns an error that says what is wrong with the command line, and where to read
// more.
func UsageError(cmd *cobra.Command, format string, args ...any) error {
	return fmt.Errorf("%w; see %s --help", fmt.Errorf(format, args...), cmd.CommandPath())
}

// NoArgs returns an error if there are arguments.
func NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return UsageError(cmd, "%q is too much: the command takes no arguments", args[0])
	}
	return nil
}

// Complete sets the completion of a flag. It panics if the command does not have the flag.
func Complete(cmd *cobra.Command, flag string, complete cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, complete); err != nil {
		panic(err)
	}
}

// CompleteValues sets the completion of a flag that takes one of several values.
func CompleteValues(cmd *cobra.Command, flag string, values ...string) {
	Complete(cmd, flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

// printedForm matches a manager as reports show it: with its operation and its subresource.
var printedForm = regexp.MustCompile(`^(.+)/(Apply|Update)(\[[^\]]*\])?$`)

// CheckManager returns an error for what cannot be the name of a field manager.
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

// Operation returns the operation that --operation names, in upper or lower case; "" for "".
func Operation(cmd *cobra.Command, text string) (metav1.ManagedFieldsOperationType, error) {
	known := []metav1.ManagedFieldsOperationType{"", metav1.ManagedFieldsOperationApply, metav1.ManagedFieldsOperationUpdate}
	at := slices.IndexFunc(known, func(o metav1.ManagedFieldsOperationType) bool { return strings.EqualFold(text, string(o)) })
	if at < 0 {
		return "", UsageError(cmd, "--operation is %q, want Apply or Update", text)
	}
	return known[at], nil
}
