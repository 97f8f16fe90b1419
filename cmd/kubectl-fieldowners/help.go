package main

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const helpWidth = 80

// describeFlags has --help of a command and of those below it list our own flags, and
// name kubectl's, among which nobody should have to look for ours. It is called when
// root has kubectl's persistent flags and no other.
func describeFlags(root *cobra.Command) {
	connection := pflag.NewFlagSet("connection", pflag.ContinueOnError)
	connection.AddFlagSet(root.PersistentFlags())
	cobra.AddTemplateFunc("ownFlags", func(cmd *cobra.Command) string {
		own := pflag.NewFlagSet("own", pflag.ContinueOnError)
		add := func(flag *pflag.Flag) {
			if known := connection.Lookup(flag.Name); known != flag || flag.Name == "namespace" {
				own.AddFlag(flag)
			}
		}
		cmd.LocalFlags().VisitAll(add)
		cmd.InheritedFlags().VisitAll(add)
		return own.FlagUsagesWrapped(helpWidth)
	})
	before, rest, _ := strings.Cut(root.UsageTemplate(), "{{if .HasAvailableLocalFlags}}")
	_, after, _ := strings.Cut(rest, "{{if .HasHelpSubCommands}}")
	root.SetUsageTemplate(before + `

Flags:
{{ownFlags . | trimTrailingWhitespaces}}

kubectl's connection flags work as well, such as --context and --kubeconfig: see
kubectl options.{{if .HasHelpSubCommands}}` + after)
}
