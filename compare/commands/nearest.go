package commands

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"coapply.dev/compare/nearest"
	"coapply.dev/internal/flagerror"
)

// unknown returns the error for a name that does not exist. It suggests similar names.
func unknown(kind, name string, names []string) error {
	return fmt.Errorf("there is no %s %q%s; see compare list", kind, name, didYouMean(nearest.Names(name, names)))
}

func unknownCommand(root *cobra.Command, name string) error {
	var names []string
	for _, cmd := range root.Commands() {
		names = append(names, cmd.Name())
	}
	return fmt.Errorf("there is no command %q%s; use %s, or see compare --help", name, didYouMean(nearest.Names(name, names)), commandNames)
}

// badFlag returns the error for an invalid flag. For a flag that does not exist it suggests similar names.
func badFlag(cmd *cobra.Command, err error) error {
	var missing *pflag.NotExistError
	if !errors.As(err, &missing) || missing.GetSpecifiedShortnames() != "" {
		return fmt.Errorf("%w; see %s --help", flagerror.Plain(err), cmd.CommandPath())
	}
	var names []string
	cmd.Flags().VisitAll(func(flag *pflag.Flag) { names = append(names, flag.Name) })
	near := nearest.Names(missing.GetSpecifiedName(), names)
	for i := range near {
		near[i] = "--" + near[i]
	}
	return fmt.Errorf("%w%s; see %s --help", err, didYouMean(near), cmd.CommandPath())
}

func didYouMean(near []string) string {
	if len(near) == 0 {
		return ""
	}
	return " (did you mean " + strings.Join(near, " or ") + "?)"
}
