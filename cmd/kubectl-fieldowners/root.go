package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"coapply.dev/cmd/kubectl-fieldowners/internal/audit"
	"coapply.dev/cmd/kubectl-fieldowners/internal/check"
	"coapply.dev/cmd/kubectl-fieldowners/internal/console"
	"coapply.dev/cmd/kubectl-fieldowners/internal/contracts"
	"coapply.dev/cmd/kubectl-fieldowners/internal/objects"
	"coapply.dev/cmd/kubectl-fieldowners/internal/show"
	"coapply.dev/cmd/kubectl-fieldowners/internal/trace"
	"coapply.dev/cmd/kubectl-fieldowners/internal/transfer"
	"coapply.dev/cmd/kubectl-fieldowners/internal/watch"
)

func newRoot(streams genericiooptions.IOStreams) *cobra.Command {
	p := objects.NewReader(&console.Console{IOStreams: streams, Color: "auto"})
	root := show.NewGet(p)
	root.Use = "kubectl-fieldowners [get] (TYPE/NAME ... | TYPE [NAME ...] | -f FILE)"
	root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: console.Name}
	root.Short = "Who owns which field of an object, and who will be in conflict"
	root.Long = `Who owns which field of an object, who will be in conflict, and what to do about it.
Names of field managers are not authenticated: read them as labels, not as evidence.
Exit codes are those of kubectl diff: 0 nothing found, 1 findings, 2 an error.`
	root.Example = `  kubectl fieldowners deployment/web                           # the object with its owners
  kubectl fieldowners audit -A                                 # who writes to this cluster?
  kubectl fieldowners check -f web.yaml --field-manager ci     # would this apply conflict?`
	root.SuggestionsMinimumDistance = 2
	root.SilenceErrors = true
	root.SilenceUsage = true
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.ErrOut)
	root.SetFlagErrorFunc(console.FlagError)
	p.AddFlags(root)
	describeFlags(root)
	console.OneOf(root, root.PersistentFlags(), &p.Color, "color", "",
		"colours: auto, always or never", "auto", "always", "never")
	root.PersistentPreRun = func(cmd *cobra.Command, _ []string) { p.EndWith(cmd.Context()) }
	root.AddCommand(show.NewGet(p), audit.New(p), check.New(p), show.NewExplain(p), watch.New(p), trace.New(p), contracts.New(p), transfer.NewMigrate(p), transfer.NewRelease(p), newVersion(p))
	get := root.RunE
	root.RunE = func(cmd *cobra.Command, args []string) error {
		err := get(cmd, args)
		if len(args) > 0 && err != nil {
			if meant := root.SuggestionsFor(args[0]); len(meant) > 0 {
				fmt.Fprintf(p.ErrOut, "Did you mean the command %s?\n", meant[0])
			}
		}
		return err
	}
	return root
}

func newVersion(p *objects.Reader) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version of the plugin",
		Example: "  kubectl fieldowners version",
		Args:    console.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(p.Out, console.Version())
			return err
		},
	}
}

// describeFlags sets the usage template of all commands. The help of a subcommand lists the flags that the plugin
// defines, and refers to "kubectl options" for the flags of kubectl. The help of the root command lists the
// subcommands. It does not list the flags of the command get, although the root command accepts them.
func describeFlags(root *cobra.Command) {
	cobra.AddTemplateFunc("ownFlags", func(cmd *cobra.Command) string {
		if cmd == root {
			return "Flags: see kubectl fieldowners get --help\n"
		}
		own := pflag.NewFlagSet("own", pflag.ContinueOnError)
		own.AddFlagSet(cmd.LocalNonPersistentFlags())
		for _, name := range []string{"color", "namespace"} {
			own.AddFlag(root.PersistentFlags().Lookup(name))
		}
		return "Flags:\n" + own.FlagUsagesWrapped(100)
	})
	before, rest, _ := strings.Cut(root.UsageTemplate(), "{{if .HasAvailableLocalFlags}}")
	_, after, _ := strings.Cut(rest, "{{if .HasHelpSubCommands}}")
	root.SetUsageTemplate(before + `

{{ownFlags . | trimTrailingWhitespaces}}

kubectl options lists kubectl's connection flags, which work as well.{{if .HasHelpSubCommands}}` + after)
}
