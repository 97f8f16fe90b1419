package main

import (
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"coapply.dev/cmd/kubectl-fieldowners/internal/ownerpage"
)

// about says of a page when and by what it was made, and of what. Objects are of files,
// or else of a cluster.
func (p *plugin) about(cmd *cobra.Command, files []string, incomplete error) ownerpage.About {
	about := ownerpage.About{
		Version: version(), Time: time.Now(), Narrowed: narrowed(cmd), Incomplete: incomplete,
	}
	if len(files) == 0 {
		about.Source = p.where(cmd)
		return about
	}
	about.Files = true
	names := slices.Clone(files)
	for i := range names {
		if names[i] == "-" {
			names[i] = "stdin"
		}
	}
	about.Source = strings.Join(names, ", ")
	return about
}

// where names the cluster that was asked, as far as the kubeconfig does, and the
// namespace.
func (p *plugin) where(cmd *cobra.Command) string {
	text := "cluster"
	config := p.config.ToRawKubeConfigLoader()
	context := *p.config.Context
	if raw, err := config.RawConfig(); err == nil && context == "" {
		context = raw.CurrentContext
	}
	if context != "" {
		text += " of the context " + context
	}
	if all, err := cmd.Flags().GetBool("all-namespaces"); err == nil && all {
		return text + ", all namespaces"
	}
	if namespace, _, err := config.Namespace(); err == nil {
		text += ", namespace " + namespace
	}
	return text
}

// narrowing are the flags that leave out fields or objects.
var narrowing = []string{"path", "manager", "operation", "shared", "unowned", "selector", "field-selector"}

// narrowed returns those of the command line, to write them on the page.
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
