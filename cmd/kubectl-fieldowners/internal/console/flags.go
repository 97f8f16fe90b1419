package console

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/dustin/go-humanize/english"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"coapply.dev/cmd/kubectl-fieldowners/internal/view"
	"coapply.dev/internal/flagerror"
)

// UsageError returns an error about the command line. Its message ends with "see COMMAND --help".
func UsageError(cmd *cobra.Command, format string, args ...any) error {
	return fmt.Errorf("%w; see %s --help", fmt.Errorf(format, args...), cmd.CommandPath())
}

// NoArgs returns a usage error if the command line has arguments. It is a cobra.PositionalArgs.
func NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return UsageError(cmd, "unexpected argument %q: the command takes no arguments", args[0])
	}
	return nil
}

// Complete sets the function for shell completion of a flag. It panics if the command has no such flag.
func Complete(cmd *cobra.Command, flag string, complete cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, complete); err != nil {
		panic(err)
	}
}

// OneOf adds a flag to flags, and sets up its shell completion. The flag accepts one of the given values, in upper or
// lower case, and stores it in *value. If usage is "", the help of the flag lists the values.
func OneOf[T ~string](cmd *cobra.Command, flags *pflag.FlagSet, value *T, name, shorthand, usage string, values ...string) {
	c := &choice[T]{value, "--" + name, values}
	if shorthand != "" {
		c.flag = "-" + shorthand
	}
	flags.VarP(c, name, shorthand, cmp.Or(usage, strings.Join(values, ", ")))
	Complete(cmd, name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

// choice is a flag that accepts only the listed values. It implements pflag.Value.
type choice[T ~string] struct {
	value  *T
	flag   string // the name of the flag in messages, such as "-o"
	values []string
}

// choiceError is the error for a value that a choice does not accept.
type choiceError string

func (e choiceError) Error() string { return string(e) }

func (c *choice[T]) Set(text string) error {
	for _, value := range c.values {
		if strings.EqualFold(text, value) {
			*c.value = T(value)
			return nil
		}
	}
	return choiceError(fmt.Sprintf("%s is %q, want %s", c.flag, text, english.WordSeries(c.values, "or")))
}

func (c *choice[T]) String() string { return string(*c.value) }

func (c *choice[T]) Type() string { return "string" }

// FlagError returns the usage error for an error that cobra returned when it parsed the flags.
func FlagError(cmd *cobra.Command, err error) error {
	if choice, is := errors.AsType[choiceError](err); is { // the message of a choiceError already names the flag
		err = choice
	}
	return UsageError(cmd, "%w", flagerror.Plain(err))
}

// printedForm matches a manager as reports print it: NAME/OPERATION or NAME/OPERATION[SUBRESOURCE].
var printedForm = regexp.MustCompile(`^(.+)/(Apply|Update)(\[[^\]]*\])?$`)

// CheckManager returns a usage error if the value of a flag cannot be the name of a field manager.
func CheckManager(cmd *cobra.Command, flag, name string) error {
	if name == "" {
		return UsageError(cmd, "--%s: the name of a field manager is needed", flag)
	}
	if parts := printedForm.FindStringSubmatch(name); parts != nil {
		return UsageError(cmd, "--%s is %s: the operation is not part of the name; write %s", flag, view.Safe(name), view.Safe(parts[1]))
	}
	if invalid := validation.ValidateFieldManager(name, field.NewPath("--"+flag)); len(invalid) > 0 {
		return UsageError(cmd, "%w", invalid.ToAggregate())
	}
	return nil
}
