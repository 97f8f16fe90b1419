package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/ownership"
	"coapply.dev/cmd/kubectl-fieldowners/internal/console"
	"coapply.dev/cmd/kubectl-fieldowners/internal/objects"
	"coapply.dev/fieldowners/command"
)

// undoable is what the commands share that change managed fields: they show first, write
// with --yes, save a file that undoes it before they write, and take it back by --undo.
type undoable struct {
	*objects.Reader

	cmd      *cobra.Command
	verb     string // as the undo file names it
	yes      bool
	undo     string
	undoFile string
	client   client.Client
}

func (u *undoable) addFlags(cmd *cobra.Command) {
	u.cmd = cmd
	flags := cmd.Flags()
	flags.BoolVar(&u.yes, "yes", false, "do it")
	flags.StringVar(&u.undo, "undo", "", "take back what was done, from the `file` that was saved then")
	flags.StringVar(&u.undoFile, "undo-file", "", fmt.Sprintf("`file` to save the undo in (default undo-%s-KIND-NAME-RESOURCEVERSION.json)", u.verb))
	u.CompleteObjects(cmd)
}

// run takes back what a file says, or does the command for each object, if it is valid.
func (u *undoable) run(ctx context.Context, args []string, valid func() error, each func(apply.ObjectRef) (found bool, err error)) (err error) {
	if u.cmd.Flags().Changed("undo") {
		return u.runUndo(ctx, args)
	}
	if err := valid(); err != nil {
		return err
	}
	if u.undoFile != "" && len(args) > 1 {
		return console.UsageError(u.cmd, "--undo-file is for one object: each has a file of its own")
	}
	if u.client, err = u.Connect(); err != nil {
		return err
	}
	return u.eachNamed(ctx, args, each)
}

// save writes the undo file, and returns its path and the command that takes it back.
func (u *undoable) save(object apply.ObjectRef, saved undoFile) (path, undoCommand string, err error) {
	path = cmp.Or(u.undoFile, undoPath(u.verb, object))
	text, err := saved.encode()
	if err == nil {
		err = saveUndo(path, text)
	}
	return path, commandLine(u.cmd, "--undo", path, "--yes"), err
}

// discard removes a file of ours that undoes what was not done.
func discard(path string) error { return os.Remove(filepath.Clean(path)) }

// dryRun reports whether there is something to do, and says that it was not done.
func (u *undoable) dryRun(count int) (found bool) {
	if count > 0 {
		fmt.Fprintln(u.ErrOut, "dry run, nothing was written: --yes does it")
	}
	return count > 0
}

func (u *undoable) runUndo(ctx context.Context, args []string) error {
	beside := ""
	u.cmd.LocalNonPersistentFlags().VisitAll(func(flag *pflag.Flag) {
		if flag.Changed && flag.Name != "undo" && flag.Name != "yes" {
			beside = cmp.Or(beside, flag.Name)
		}
	})
	switch {
	case beside != "":
		return console.UsageError(u.cmd, "--%s beside --undo: the file says what is to be taken back", beside)
	case len(args) > 0:
		return console.UsageError(u.cmd, "%q beside --undo: the file says which object is meant", args[0])
	case u.undo == "":
		return console.UsageError(u.cmd, "--undo: which file?")
	}
	source, content, err := u.ReadFile(u.undo)
	if err != nil {
		return err
	}
	saved, err := decodeUndo(content)
	if err != nil {
		return fmt.Errorf("%s: no undo file: %w", source, err)
	}
	if u.client, err = u.Connect(); err != nil {
		return err
	}
	found, err := u.takeBack(ctx, saved)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", source, err)
	case found:
		return console.ErrFound
	}
	return nil
}

func (u *undoable) takeBack(ctx context.Context, saved undoFile) (found bool, err error) {
	if saved.Undoes == "migrate" {
		return u.moveBack(ctx, saved)
	}
	for _, part := range saved.GivenUp {
		finds, err := u.applyAgain(ctx, saved.Manager, part)
		if err != nil {
			return false, err
		}
		found = found || finds
	}
	return found && u.dryRun(1), nil
}

// moveBack gives the fields back to those who owned them.
func (u *undoable) moveBack(ctx context.Context, saved undoFile) (found bool, err error) {
	applier, err := u.applier(saved.Moved[0].To.Name)
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
		fmt.Fprintf(u.Out, "%v: nothing to give back: %s owns none of these fields any more\n", object, saved.Moved[0].To)
		return false, nil
	}
	u.showTransfer(object, undo)
	if !u.yes {
		return u.dryRun(moves), nil
	}
	if _, err := undo.Do(ctx); err != nil {
		return false, err
	}
	fmt.Fprintf(u.Out, "%v: %s given back\n", object, fields(moves))
	return false, nil
}

// applyAgain applies what was given up, and takes nothing from others. It reports whether
// there is something to apply that --yes would.
func (u *undoable) applyAgain(ctx context.Context, manager string, part undoConfig) (found bool, err error) {
	applier, err := u.applier(manager)
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
		fmt.Fprintf(u.Out, "%v: nothing to take back: %s owns all of it\n", plan.Object, manager)
		return false, nil
	case !u.yes:
		fmt.Fprint(u.Out, plan)
		return true, nil
	}
	if _, err := applier.Apply(ctx, intent); err != nil {
		return false, err
	}
	fmt.Fprintf(u.Out, "%v: taken back by %s\n", plan.Object, manager)
	return false, nil
}

// applier returns an applier under a manager's name, which reads live.
func (u *undoable) applier(manager string) (*apply.Applier, error) {
	return apply.New(u.client, apply.Config{FieldManager: manager, LiveReader: u.client})
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
