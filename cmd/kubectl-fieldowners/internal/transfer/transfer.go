// Package transfer has the commands that change managed fields: release, which gives fields up, and
// migrate, which moves them, with its undo.
//
// Both show first and write with --yes. Before migrate writes, it saves a file that undoes the write,
// which is pinned to the state that was shown.
package transfer

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/cmd/kubectl-fieldowners/internal/console"
	"coapply.dev/cmd/kubectl-fieldowners/internal/objects"
	"coapply.dev/internal/command"
)

// engine is what the commands that change managed fields share: they show first, and write with
// --yes.
type engine struct {
	*objects.Reader

	cmd    *cobra.Command
	yes    bool
	client client.WithWatch
}

func (e *engine) addFlags(cmd *cobra.Command) {
	e.cmd = cmd
	cmd.Flags().BoolVar(&e.yes, "yes", false, "do it")
	e.CompleteObjects(cmd)
}

// dryRun reports whether there is something to do, and prints that it was not done.
func (e *engine) dryRun(count int) (found bool) {
	if count > 0 {
		fmt.Fprintln(e.ErrOut, "dry run, nothing was written: --yes does it")
	}
	return count > 0
}

// applier returns an applier under a manager's name, which reads live.
func (e *engine) applier(manager string) (*apply.Applier, error) {
	return apply.New(e.client, apply.Config{FieldManager: manager, LiveReader: e.client})
}

// commandLine returns a command of the plugin for a shell, on the cluster that this one was called
// with.
func commandLine(cmd *cobra.Command, words ...string) string {
	var line strings.Builder
	line.WriteString(cmd.CommandPath())
	for _, flag := range []string{"kubeconfig", "context", "cluster", "user", "server", "as"} {
		if set := cmd.Flags().Lookup(flag); set != nil && set.Changed {
			words = append(words, "--"+flag, set.Value.String())
		}
	}
	if groups, err := cmd.Flags().GetStringArray("as-group"); err == nil {
		for _, group := range groups {
			words = append(words, "--as-group", group)
		}
	}
	for _, word := range words {
		line.WriteString(" " + command.Quote(word))
	}
	return line.String()
}

// eachNamed calls handle for the objects that arguments name. It goes on after an error, and
// prints each on stderr. It returns ErrSaid if one failed, and ErrFound if something was found.
func (e *engine) eachNamed(ctx context.Context, args []string, handle func(apply.ObjectRef) (found bool, err error)) error {
	builder, err := e.Builder(objects.Selection{})
	if err != nil {
		return err
	}
	// Those that were found come with an error about the others.
	all, err := builder.ResourceTypeOrNameArgs(false, args...).ContinueOnError().Flatten().Do().Infos()
	failed, found := e.Say(err), false
	for _, info := range all {
		finds, err := handle(refTo(info))
		failed, found = e.Say(err) || failed, finds || found
		if ctx.Err() != nil {
			break
		}
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case failed:
		return console.ErrSaid
	case found:
		return console.ErrFound
	}
	return nil
}

func refTo(info *resource.Info) apply.ObjectRef {
	ref := apply.ObjectRef{
		GroupVersionKind: info.Mapping.GroupVersionKind,
		NamespacedName:   types.NamespacedName{Namespace: info.Namespace, Name: info.Name},
		ResourceVersion:  info.ResourceVersion,
	}
	if object, ok := info.Object.(client.Object); ok {
		ref.UID = object.GetUID()
	}
	return ref
}

// namesObjects returns an error for a command line without objects, or without their names.
func namesObjects(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return console.UsageError(cmd, "which object? Name one, such as deployment/web")
	}
	return nil
}
