package main

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const helpWidth = 100

// describeFlags makes --help of a command list our own flags, and only name kubectl's. The help
// of root lists the commands instead of the flags of get. describeFlags has to be called when root
// has kubectl's persistent flags and no others.
func describeFlags(root *cobra.Command) {
	connection := pflag.NewFlagSet("connection", pflag.ContinueOnError)
	connection.AddFlagSet(root.PersistentFlags())
	cobra.AddTemplateFunc("ownFlags", func(cmd *cobra.Command) string {
		if cmd == root {
			return "Flags: see kubectl fieldowners get --help\n"
		}
		own := pflag.NewFlagSet("own", pflag.ContinueOnError)
		add := func(flag *pflag.Flag) {
			if known := connection.Lookup(flag.Name); known != flag || flag.Name == "namespace" {
				own.AddFlag(flag)
			}
		}
		cmd.LocalFlags().VisitAll(add)
		cmd.InheritedFlags().VisitAll(add)
		return "Flags:\n" + own.FlagUsagesWrapped(helpWidth)
	})
	before, rest, _ := strings.Cut(root.UsageTemplate(), "{{if .HasAvailableLocalFlags}}")
	_, after, _ := strings.Cut(rest, "{{if .HasHelpSubCommands}}")
	root.SetUsageTemplate(before + `

{{ownFlags . | trimTrailingWhitespaces}}

kubectl options lists kubectl's connection flags, which work as well.{{if .HasHelpSubCommands}}` + after)
}
