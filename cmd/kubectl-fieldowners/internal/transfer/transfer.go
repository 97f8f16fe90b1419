// Package transfer implements the commands release and migrate of the plugin, which change managed
// fields. The command release gives up fields, and migrate moves fields to another manager.
//
// Without the flag --yes, both commands only show what they would do. Before migrate writes, it saves an undo file.
// The write of migrate fails if the object has changed since migrate showed the fields to move.
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

// engine implements the common parts of the commands that change managed fields. Without --yes, these commands only
// show the changes.
type engine struct {
	*objects.Reader

	cmd    *cobra.Command
	yes    bool
	client client.WithWatch
}

func (e *engine) addFlags(cmd *cobra.Command) {
	e.cmd = cmd
	cmd.Flags().BoolVar(&e.yes, "yes", false, "write the changes instead of only showing the changes")
	e.CompleteObjects(cmd)
}

// dryRun reports whether the given number of changes is above 0. If so, it prints that nothing was written.
func (e *engine) dryRun(count int) (found bool) {
	if count > 0 {
		fmt.Fprintln(e.ErrOut, "dry run: nothing was written; to write, repeat the command with --yes")
	}
	return count > 0
}

// applier returns an Applier for a field manager. The Applier reads objects from the API server, not from a cache.
func (e *engine) applier(manager string) (*apply.Applier, error) {
	return apply.New(e.client, apply.Config{FieldManager: manager, LiveReader: e.client})
}

// commandLine returns a command line of the plugin, quoted for a shell. It includes the connection
// flags of the current command line, so that the command runs on the same cluster.
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

// eachNamed calls the given function for each object specified by the arguments. It prints errors on stderr, and
// continues with the next object. It returns ErrSaid if it printed an error. Otherwise, it returns ErrFound if the
// function returned true for an object.
func (e *engine) eachNamed(ctx context.Context, args []string, handle func(apply.ObjectRef) (found bool, err error)) error {
	builder, err := e.Builder(objects.Selection{})
	if err != nil {
		return err
	}
	// Infos returns the objects that it found, together with an error about all objects that it did not find.
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

// namesObjects returns a usage error if the command line names no object.
func namesObjects(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return console.UsageError(cmd, "no object is named: name an object, such as deployment/web")
	}
	return nil
}
