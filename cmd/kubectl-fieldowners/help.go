package main

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// connection are the flags that kubectl explains: nobody should have to find ours
// among them.
var connection = pflag.NewFlagSet("connection", pflag.ContinueOnError)

const helpWidth = 80

// describeFlags has --help of a command and of those below it list our own flags, and
// name kubectl's. It is called when root has kubectl's persistent flags and no other.
func describeFlags(root *cobra.Command) {
	connection = pflag.NewFlagSet("connection", pflag.ContinueOnError)
	connection.AddFlagSet(root.PersistentFlags())
	cobra.AddTemplateFunc("ownFlags", ownFlags)
	template := root.UsageTemplate()
	start := strings.Index(template, "{{if .HasAvailableLocalFlags}}")
	end := strings.Index(template, "{{if .HasHelpSubCommands}}")
	root.SetUsageTemplate(template[:start] + `

Flags:
{{ownFlags . | trimTrailingWhitespaces}}

kubectl's connection flags work as well, such as --context and --kubeconfig: see
kubectl options.` + template[end:])
}

func ownFlags(cmd *cobra.Command) string {
	own := pflag.NewFlagSet("own", pflag.ContinueOnError)
	add := func(flag *pflag.Flag) {
		if known := connection.Lookup(flag.Name); known != flag || flag.Name == "namespace" {
			own.AddFlag(flag)
		}
	}
	cmd.LocalFlags().VisitAll(add)
	cmd.InheritedFlags().VisitAll(add)
	return own.FlagUsagesWrapped(helpWidth)
}
