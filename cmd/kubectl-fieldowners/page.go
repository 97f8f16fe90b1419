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
		Version: version(), Time: time.Now(), Source: "cluster", Narrowed: narrowed(cmd), Incomplete: incomplete,
	}
	if len(files) > 0 {
		names := slices.Clone(files)
		for i := range names {
			if names[i] == "-" {
				names[i] = "stdin"
			}
		}
		about.Source = strings.Join(names, ", ")
	} else if context := p.context(); context != "" {
		about.Source = "cluster of the context " + context
	}
	return about
}

// context gives the name of the kubeconfig's context, if there is one.
func (p *plugin) context() string {
	if p.config.Context != nil && *p.config.Context != "" {
		return *p.config.Context
	}
	config, err := p.config.ToRawKubeConfigLoader().RawConfig()
	if err != nil {
		return ""
	}
	return config.CurrentContext
}

// narrowing are the flags that leave out fields or objects.
var narrowing = []string{"path", "manager", "operation", "shared", "unowned", "namespace", "selector", "field-selector"}

// narrowed gives those of the command line, to write them on the page.
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
