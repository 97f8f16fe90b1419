package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	cliflag "k8s.io/component-base/cli/flag"
)

const helpWidth = 80

// Groups of flags in --help. The first has the flags that no other group names.
const (
	groupOwn     = "Flags"
	groupObjects = "Which objects"
	groupFields  = "Which fields"
	groupOutput  = "Output"
)

var flagGroups = map[string][]string{
	groupObjects: {"filename", "selector", "field-selector", "all-namespaces", "namespace"},
	groupFields:  {"path", "manager", "operation", "shared", "unowned"},
	groupOutput:  {"output", "no-headers", "color", "help"},
}

// describeFlags makes --help of a command and of those below it list our own flags by group,
// and only name kubectl's. It has to be called when root has kubectl's persistent flags and no
// others.
func describeFlags(root *cobra.Command) {
	connection := pflag.NewFlagSet("connection", pflag.ContinueOnError)
	connection.AddFlagSet(root.PersistentFlags())
	cobra.AddTemplateFunc("ownFlags", func(cmd *cobra.Command) string {
		var groups cliflag.NamedFlagSets
		for _, name := range []string{groupOwn, groupObjects, groupFields, groupOutput} {
			groups.FlagSet(name)
		}
		add := func(flag *pflag.Flag) {
			if known := connection.Lookup(flag.Name); known != flag || flag.Name == "namespace" {
				groups.FlagSet(groupOf(flag.Name)).AddFlag(flag)
			}
		}
		cmd.LocalFlags().VisitAll(add)
		cmd.InheritedFlags().VisitAll(add)
		var text strings.Builder
		for _, name := range groups.Order {
			if flags := groups.FlagSets[name]; flags.HasFlags() {
				text.WriteString("\n" + name + ":\n" + flags.FlagUsagesWrapped(helpWidth))
			}
		}
		return text.String()
	})
	before, rest, _ := strings.Cut(root.UsageTemplate(), "{{if .HasAvailableLocalFlags}}")
	_, after, _ := strings.Cut(rest, "{{if .HasHelpSubCommands}}")
	root.SetUsageTemplate(before + `
{{ownFlags . | trimTrailingWhitespaces}}

kubectl's connection flags work as well, such as --context and --kubeconfig: see
kubectl options.{{if .HasHelpSubCommands}}` + after)
}

func groupOf(flag string) string {
	for group, flags := range flagGroups {
		if slices.Contains(flags, flag) {
			return group
		}
	}
	return groupOwn
}
