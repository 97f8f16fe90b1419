package main

import (
	"slices"

	"github.com/spf13/cobra"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
	"k8s.io/kubectl/pkg/util/completion"
)

// completeObjects completes TYPE, NAME and TYPE/NAME as kubectl get does. kubectl asks
// for it through the executable kubectl_complete-fieldowners beside ours.
func (p *plugin) completeObjects(cmd *cobra.Command) {
	factory := cmdutil.NewFactory(p.config)
	cmd.ValidArgsFunction = completion.ResourceTypeAndNameCompletionFunc(factory)
}

// completeConnection completes the connection flags that name something.
func (p *plugin) completeConnection(root *cobra.Command) {
	completion.SetFactoryForCompletion(cmdutil.NewFactory(p.config))
	for name, list := range map[string]func(string) []string{
		"namespace": func(typed string) []string {
			return completion.CompGetResource(cmdutil.NewFactory(p.config), "namespace", typed)
		},
		"context": completion.ListContextsInConfig,
		"cluster": completion.ListClustersInConfig,
		"user":    completion.ListUsersInConfig,
	} {
		must(root.RegisterFlagCompletionFunc(name, func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
			return list(typed), cobra.ShellCompDirectiveNoFileComp
		}))
	}
}

// completeValues completes a flag that takes one of several values.
func completeValues(cmd *cobra.Command, flag string, values ...string) {
	values = slices.DeleteFunc(slices.Clone(values), func(v string) bool { return v == "" })
	must(cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)))
}

// must is for what fails only when a flag is misspelt in this package; any test finds
// it.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
