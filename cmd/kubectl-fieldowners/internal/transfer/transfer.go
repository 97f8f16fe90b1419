// Package transfer has the commands that change managed fields: release, which gives fields up,
// migrate, which moves them, and the undo of both.
//
// All of them show first and write with --yes. Before they write they save a file that undoes
// what they do, and the write is pinned to the state that they have shown.
package transfer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/cmd/kubectl-fieldowners/internal/console"
	"coapply.dev/cmd/kubectl-fieldowners/internal/objects"
	"coapply.dev/cmd/kubectl-fieldowners/internal/view"
	"coapply.dev/fieldowners"
	"coapply.dev/fieldowners/command"
)

// engine is what the commands that change managed fields share: they show first, write with
// --yes after saving a file that undoes the write, and undo it with --undo.
type engine struct {
	*objects.Reader

	cmd      *cobra.Command
	verb     string // as the undo file names it
	yes      bool
	undo     string
	undoFile string
	client   client.WithWatch
}

func (e *engine) addFlags(cmd *cobra.Command) {
	e.cmd = cmd
	flags := cmd.Flags()
	flags.BoolVar(&e.yes, "yes", false, "do it")
	flags.StringVar(&e.undo, "undo", "", "take back what was done, from the `file` that was saved then")
	flags.StringVar(&e.undoFile, "undo-file", "", fmt.Sprintf("`file` to save the undo in (default undo-%s-KIND-NAME-RESOURCEVERSION.json)", e.verb))
	e.CompleteObjects(cmd)
}

// run undoes what the file of --undo has, or else does the command for each object, if valid
// returns nil.
func (e *engine) run(ctx context.Context, args []string, valid func() error, each func(apply.ObjectRef) (found bool, err error)) (err error) {
	if e.cmd.Flags().Changed("undo") {
		return e.runUndo(ctx, args)
	}
	if err := valid(); err != nil {
		return err
	}
	if e.undoFile != "" && len(args) > 1 {
		return console.UsageError(e.cmd, "--undo-file is for one object: each has a file of its own")
	}
	if e.client, err = e.Connect(); err != nil {
		return err
	}
	return e.eachNamed(ctx, args, each)
}

// change is what a command would do to one object, or what its undo would.
type change struct {
	object apply.ObjectRef
	count  int      // how many fields change; 0 for none
	undo   undoFile // saved before the write; empty if nothing undoes it
	// write makes the change, and returns a text about it. undo is the command for the undo,
	// with its file. The error is unwritten if it is certain that nothing was written.
	write func(ctx context.Context, file, undo string) (said string, err error)
}

// unwritten is the error of a change that was certainly not written.
type unwritten struct{ error }

// carryOut makes a change with --yes; without it, it reports whether there is a change to make.
func (e *engine) carryOut(ctx context.Context, c change) (found bool, err error) {
	if c.count == 0 || !e.yes {
		return e.dryRun(c.count), nil
	}
	if c.undo.Undoes == "" {
		said, err := c.write(ctx, "", "")
		if said != "" {
			fmt.Fprintf(e.Out, "%v: %s\n", c.object, said)
		}
		return false, err
	}
	file := cmp.Or(e.undoFile, undoPath(e.verb, c.object))
	if err := c.undo.save(file); err != nil {
		return false, err
	}
	undo := commandLine(e.cmd, "--undo", file, "--yes")
	said, err := c.write(ctx, file, undo)
	if nothing := (unwritten{}); errors.As(err, &nothing) {
		return false, errors.Join(nothing.error, os.Remove(filepath.Clean(file)))
	}
	if said == "" {
		return false, err
	}
	fmt.Fprintf(e.Out, "%v: %s; to undo it:\n  %s\n", c.object, said, view.Safe(undo))
	if len(c.undo.GivenUp) > 0 && fieldowners.IsSecret(c.object.Group, c.object.Kind) {
		fmt.Fprintln(e.ErrOut, "warning: the undo file holds values of the Secret: delete it when it is not needed any more")
	}
	return false, err
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
