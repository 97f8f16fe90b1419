package page

import (
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"coapply.dev/cmd/kubectl-fieldowners/internal/console"
	"coapply.dev/cmd/kubectl-fieldowners/internal/objects"
)

// NewAbout returns what a page says about itself: when it was made, by which version, and of what.
func NewAbout(r *objects.Reader, cmd *cobra.Command, from objects.Source, incomplete error) About {
	about := About{
		Version: console.Version(), Time: time.Now(), Narrowed: narrowed(cmd), Incomplete: incomplete, Files: len(from.Files) > 0,
	}
	if !about.Files {
		about.Source = clusterOf(r, from)
		return about
	}
	names := slices.Clone(from.Files)
	for i := range names {
		if names[i] == "-" {
			names[i] = "stdin"
		}
	}
	about.Source = strings.Join(names, ", ")
	return about
}

// clusterOf returns the name of the cluster in the kubeconfig, and the namespace.
func clusterOf(r *objects.Reader, from objects.Source) string {
	text := "cluster"
	context := *r.Config.Context
	if raw, err := r.Config.ToRawKubeConfigLoader().RawConfig(); err == nil && context == "" {
		context = raw.CurrentContext
	}
	if context != "" {
		text += " of the context " + context
	}
	if from.AllNamespaces {
		return text + ", all namespaces"
	}
	if namespace, _, err := r.Namespace(); err == nil {
		text += ", namespace " + namespace
	}
	return text
}

// narrowing are the flags that leave out fields or objects.
var narrowing = []string{"path", "manager", "operation", "shared", "unowned", "selector", "field-selector"}

// narrowed returns the narrowing flags of the command line, to write them on the page.
func narrowed(cmd *cobra.Command) string {
	var given []string
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		if !slices.Contains(narrowing, flag.Name) {
			return
		}
		text := "--" + flag.Name
		if flag.Value.Type() != "bool" {
			text += "=" + strings.Trim(flag.Value.String(), "[]")
		}
		given = append(given, text)
	})
	return strings.Join(given, " ")
}
