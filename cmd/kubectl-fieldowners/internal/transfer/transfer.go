// Package transfer has the commands that change managed fields: release, which gives fields up,
// migrate, which moves them, and the undo of both.
//
// All of them show first and write with --yes. Before they write they save a file that undoes what
// they do, and what they write is bound to what they have shown.
package transfer

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/ownership"
	"coapply.dev/cmd/kubectl-fieldowners/internal/console"
	"coapply.dev/cmd/kubectl-fieldowners/internal/objects"
	"coapply.dev/fieldowners/command"
)

// engine is what the commands share that change managed fields: they show first, write
// with --yes, save a file that undoes it before they write, and take it back by --undo.
type engine struct {
	*objects.Reader

	cmd      *cobra.Command
	verb     string // as the undo file names it
	yes      bool
	undo     string
	undoFile string
	client   client.Client
}

func (e *engine) addFlags(cmd *cobra.Command) {
	e.cmd = cmd
	flags := cmd.Flags()
	flags.BoolVar(&e.yes, "yes", false, "do it")
	flags.StringVar(&e.undo, "undo", "", "take back what was done, from the `file` that was saved then")
	flags.StringVar(&e.undoFile, "undo-file", "", fmt.Sprintf("`file` to save the undo in (default undo-%s-KIND-NAME-RESOURCEVERSION.json)", e.verb))
	e.CompleteObjects(cmd)
}

// run takes back what a file says, or does the command for each object, if it is valid.
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

// save writes the undo file, and returns its path and the command that takes it back.
func (e *engine) save(object apply.ObjectRef, saved undoFile) (path, undoCommand string, err error) {
	path = cmp.Or(e.undoFile, undoPath(e.verb, object))
	text, err := saved.encode()
	if err == nil {
		err = saveUndo(path, text)
	}
	return path, commandLine(e.cmd, "--undo", path, "--yes"), err
}

// discard removes a file of ours that undoes what was not done.
func discard(path string) error { return os.Remove(filepath.Clean(path)) }

// dryRun reports whether there is something to do, and says that it was not done.
func (e *engine) dryRun(count int) (found bool) {
	if count > 0 {
		fmt.Fprintln(e.ErrOut, "dry run, nothing was written: --yes does it")
	}
	return count > 0
}

func (e *engine) runUndo(ctx context.Context, args []string) error {
	beside := ""
	e.cmd.LocalNonPersistentFlags().VisitAll(func(flag *pflag.Flag) {
		if flag.Changed && flag.Name != "undo" && flag.Name != "yes" {
			beside = cmp.Or(beside, flag.Name)
		}
	})
	switch {
	case beside != "":
		return console.UsageError(e.cmd, "--%s beside --undo: the file says what is to be taken back", beside)
	case len(args) > 0:
		return console.UsageError(e.cmd, "%q beside --undo: the file says which object is meant", args[0])
	case e.undo == "":
		return console.UsageError(e.cmd, "--undo: which file?")
	}
	source, content, err := e.ReadFile(e.undo)
	if err != nil {
		return err
	}
	saved, err := decodeUndo(content)
	if err != nil {
		return fmt.Errorf("%s: no undo file: %w", source, err)
	}
	if e.client, err = e.Connect(); err != nil {
		return err
	}
	found, err := e.takeBack(ctx, saved)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", source, err)
	case found:
		return console.ErrFound
	}
	return nil
}

func (e *engine) takeBack(ctx context.Context, saved undoFile) (found bool, err error) {
	if saved.Undoes == "migrate" {
		return e.moveBack(ctx, saved)
	}
	for _, part := range saved.GivenUp {
		finds, err := e.applyAgain(ctx, saved.Manager, part)
		if err != nil {
			return false, err
		}
		found = found || finds
	}
	return found && e.dryRun(1), nil
}

// moveBack gives the fields back to those who owned them.
func (e *engine) moveBack(ctx context.Context, saved undoFile) (found bool, err error) {
	applier, err := e.applier(saved.Moved[0].To.Name)
	if err != nil {
		return false, err
	}
	object := saved.Object.ref()
	undo, err := ownership.Undo(ctx, applier, object, saved.Moved)
	if err != nil {
		return false, err
	}
	moves := len(undo.Moves())
	if moves == 0 {
		fmt.Fprintf(e.Out, "%v: nothing to give back: %s owns none of these fields any more\n", object, saved.Moved[0].To)
		return false, nil
	}
	e.showTransfer(object, undo)
	if !e.yes {
		return e.dryRun(moves), nil
	}
	if _, err := undo.Do(ctx); err != nil {
		return false, err
	}
	fmt.Fprintf(e.Out, "%v: %s given back\n", object, fields(moves))
	return false, nil
}

// applyAgain applies what was given up, and takes nothing from others. It reports whether
// there is something to apply that --yes would.
func (e *engine) applyAgain(ctx context.Context, manager string, part undoConfig) (found bool, err error) {
	applier, err := e.applier(manager)
	if err != nil {
		return false, err
	}
	intent := apply.Intent{Config: client.ApplyConfigurationFromUnstructured(part.Configuration), Subresource: part.Subresource}
	plan, err := applier.Plan(ctx, intent)
	if err == nil {
		err = plan.Refused
	}
	switch {
	case err != nil:
		return false, err
	case plan.Action == apply.Unchanged:
		fmt.Fprintf(e.Out, "%v: nothing to take back: %s owns all of it\n", plan.Object, manager)
		return false, nil
	case !e.yes:
		fmt.Fprint(e.Out, plan)
		return true, nil
	}
	if _, err := applier.Apply(ctx, intent); err != nil {
		return false, err
	}
	fmt.Fprintf(e.Out, "%v: taken back by %s\n", plan.Object, manager)
	return false, nil
}

// applier returns an applier under a manager's name, which reads live.
func (e *engine) applier(manager string) (*apply.Applier, error) {
	return apply.New(e.client, apply.Config{FieldManager: manager, LiveReader: e.client})
}

// commandLine returns a command of ours that a person can run as it stands, in a shell:
// on the cluster that this one was told to use.
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

// eachNamed handles the objects that arguments name, one after another. It goes on
// after one that fails, and says each error on stderr. The error says that
// something was found, or that something failed.
func (e *engine) eachNamed(ctx context.Context, args []string, handle func(apply.ObjectRef) (found bool, err error)) error {
	all, err := e.named(args)
	failed, found := e.Say(err), false
	for _, object := range all {
		finds, err := handle(object)
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

// named finds the objects of TYPE/NAME or TYPE NAME. Those that were found come with
// an error about the others.
func (e *engine) named(args []string) (found []apply.ObjectRef, err error) {
	builder, err := e.Builder(objects.Selection{})
	if err != nil {
		return nil, err
	}
	err = builder.ResourceTypeOrNameArgs(false, args...).
		ContinueOnError().Flatten().
		Do().
		Visit(func(info *resource.Info, err error) error {
			if err == nil {
				found = append(found, refTo(info))
			}
			return err
		})
	return found, err
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

// namesObjects refuses a command line without objects, or without their names.
func namesObjects(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return console.UsageError(cmd, "which object? Name one, such as deployment/web")
	}
	return nil
}
