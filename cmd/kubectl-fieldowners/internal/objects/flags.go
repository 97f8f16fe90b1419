package objects

import (
	"github.com/spf13/cobra"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
	"k8s.io/kubectl/pkg/util/completion"

	"coapply.dev/cmd/kubectl-fieldowners/internal/console"
)

// Selection says which objects of the cluster a command reads.
type Selection struct {
	Labels, Fields string // selectors
	AllNamespaces  bool
}

// AddFlags adds the flags of a selection.
func (s *Selection) AddFlags(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&s.Labels, "selector", "l", "", "only objects with these `labels`, as for kubectl get")
	cmd.Flags().StringVar(&s.Fields, "field-selector", "", "only objects with these `fields`, as for kubectl get")
	cmd.Flags().BoolVarP(&s.AllNamespaces, "all-namespaces", "A", false, "objects of all namespaces")
}

// Source says where a command reads objects: in files, or else in the cluster.
type Source struct {
	Selection

	Files []string
}

// AddFlags adds the flags of a source.
func (s *Source) AddFlags(cmd *cobra.Command) {
	cmd.Flags().StringSliceVarP(&s.Files, "filename", "f", nil, "read objects from `files`, - for stdin, instead of a cluster")
	s.Selection.AddFlags(cmd)
}

// Check returns an error if flags and arguments are about both files and a cluster.
func (s *Source) Check(cmd *cobra.Command, args []string) error {
	switch {
	case len(s.Files) > 0 && len(args) > 0:
		return console.UsageError(cmd, "%q beside -f: objects come either from files or from a cluster", args[0])
	case len(s.Files) > 0 && s.Selection != (Selection{}):
		return console.UsageError(cmd, "-l, --field-selector and -A select objects of a cluster, not of files")
	}
	return nil
}

// AddFlags adds kubectl's connection flags for a command and those below it.
func (r *Reader) AddFlags(root *cobra.Command) {
	r.Config.AddFlags(root.PersistentFlags())
	factory := cmdutil.NewFactory(r.Config)
	completion.SetFactoryForCompletion(factory)
	for name, list := range map[string]func(string) []string{
		"namespace": func(typed string) []string { return completion.CompGetResource(factory, "namespace", typed) },
		"context":   completion.ListContextsInConfig,
		"cluster":   completion.ListClustersInConfig,
		"user":      completion.ListUsersInConfig,
	} {
		console.Complete(root, name, func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
			return list(typed), cobra.ShellCompDirectiveNoFileComp
		})
	}
}

// CompleteObjects completes TYPE, NAME and TYPE/NAME as kubectl get does. kubectl calls the
// executable kubectl_complete-fieldowners for it, which lies beside ours.
func (r *Reader) CompleteObjects(cmd *cobra.Command) {
	cmd.ValidArgsFunction = completion.ResourceTypeAndNameCompletionFunc(cmdutil.NewFactory(r.Config))
}
