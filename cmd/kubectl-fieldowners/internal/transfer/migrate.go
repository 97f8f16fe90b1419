package transfer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dustin/go-humanize/english"
	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/apply"
	"coapply.dev/apply/ownership"
	"coapply.dev/cmd/kubectl-fieldowners/internal/console"
	"coapply.dev/cmd/kubectl-fieldowners/internal/objects"
	"coapply.dev/cmd/kubectl-fieldowners/internal/view"
	"coapply.dev/fieldowners"
)

type migrateCommand struct {
	engine

	from      []string
	to        string
	operation metav1.ManagedFieldsOperationType
	paths     []string
	undo      string
	undoFile  string
}

// NewMigrate returns the cobra command for "kubectl fieldowners migrate".
func NewMigrate(p *objects.Reader) *cobra.Command {
	m := &migrateCommand{engine: engine{Reader: p}, operation: metav1.ManagedFieldsOperationUpdate}
	cmd := &cobra.Command{
		Use:   "migrate (TYPE/NAME ... --from MANAGER --to MANAGER | --undo FILE)",
		Short: "Move fields from one manager to another, without a change of values",
		Long: `Move fields from the managers named by --from to the Apply entry of --to. No value
changes. If the next apply by --to does not list a moved field, the field is deleted.
Without --yes, the command only shows the fields; with --yes, it first saves an undo file.

Exit codes: 0 nothing to move, or done; 1 there is something to move; 2 an error.`,
		Example: `  kubectl fieldowners migrate deployment/web --from kubectl-client-side-apply --to ci
  kubectl fieldowners migrate deployment/web --from ci-v1 --to ci --operation Apply --yes
  kubectl fieldowners migrate deployment/web --from helm --to ci --path .metadata.labels
  kubectl fieldowners migrate --undo undo-migrate-deployment-web-4711.json --yes`,
		Args: cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, args []string) error { return m.run(args) },
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&m.from, "from", nil, "`managers` whose fields are to move")
	flags.StringVar(&m.to, "to", "", "`manager` that gets the fields in its Apply entry")
	console.OneOf(cmd, flags, &m.operation, "operation", "", "how --from owns the fields: `Update` or Apply", "Update", "Apply")
	flags.StringArrayVar(&m.paths, "path", nil, "only this `field` and the fields below; may be given several times")
	flags.StringVar(&m.undo, "undo", "", "undo the migration that saved this `file`")
	flags.StringVar(&m.undoFile, "undo-file", "", "`file` to save the undo in (default undo-migrate-KIND-NAME-RESOURCEVERSION.json)")
	for _, other := range []string{"from", "to", "operation", "path", "undo-file"} {
		cmd.MarkFlagsMutuallyExclusive("undo", other)
	}
	m.addFlags(cmd)
	return cmd
}

func (m *migrateCommand) run(args []string) (err error) {
	ctx := m.cmd.Context()
	if m.undo != "" {
		return m.runUndo(ctx, args)
	}
	from, err := m.validate(args)
	if err != nil {
		return err
	}
	if m.client, err = m.Connect(); err != nil {
		return err
	}
	return m.eachNamed(ctx, args, func(object apply.ObjectRef) (bool, error) { return m.migrate(ctx, object, from) })
}

func (m *migrateCommand) validate(args []string) (from []ownership.From, err error) {
	if err := namesObjects(m.cmd, args); err != nil {
		return nil, err
	}
	if err := console.CheckManager(m.cmd, "to", m.to); err != nil {
		return nil, err
	}
	if len(m.from) == 0 {
		return nil, console.UsageError(m.cmd, "--from is missing: name the field managers whose fields are to move")
	}
	if m.undoFile != "" && len(args) > 1 {
		return nil, console.UsageError(m.cmd, "--undo-file is for one object only: without it, each object gets its own undo file")
	}
	paths, err := m.canonicalPaths()
	if err != nil {
		return nil, err
	}
	for _, name := range m.from {
		if err := console.CheckManager(m.cmd, "from", name); err != nil {
			return nil, err
		}
		from = append(from, ownership.From{Manager: name, Paths: paths})
	}
	return from, nil
}

func (m *migrateCommand) canonicalPaths() (texts []string, err error) {
	for _, text := range m.paths {
		path, err := view.ParsePath(text)
		switch {
		case err != nil:
			return nil, console.UsageError(m.cmd, "--path: %w", err)
		case path.IsRoot():
			return nil, console.UsageError(m.cmd, "--path is empty; leave it out to move all fields")
		case !slices.Contains(texts, path.String()):
			texts = append(texts, path.String())
		}
	}
	return texts, nil
}

// migrate shows the fields of one object that would move, and moves them if --yes is given. It returns true if there
// are fields to move, but --yes is not given.
func (m *migrateCommand) migrate(ctx context.Context, object apply.ObjectRef, from []ownership.From) (found bool, err error) {
	applier, err := m.applier(m.to)
	if err != nil {
		return false, err
	}
	transfer := ownership.Migrate
	if m.operation == metav1.ManagedFieldsOperationApply {
		transfer = ownership.Rename
	}
	shown, err := transfer(ctx, applier, object, from...)
	if err != nil {
		return false, err
	}
	for _, none := range shown.Unmatched() {
		none = strings.NewReplacer("use Rename", "use --operation Apply", "use Migrate", "use --operation Update").Replace(none)
		fmt.Fprintf(m.ErrOut, "warning: %v: %s\n", object, view.Safe(none))
	}
	m.showTransfer(object, shown)
	moves := shown.Moves()
	if len(moves) == 0 || !m.yes {
		return m.dryRun(len(moves)), nil
	}
	unique := fmt.Sprintf("undo-migrate-%s-%s-%s.json", strings.ToLower(object.Kind), object.Name, object.ResourceVersion)
	file, saved := cmp.Or(m.undoFile, unique), newUndoFile(object, moves)
	if err := saved.save(file); err != nil {
		return false, err
	}
	undo := commandLine(m.cmd, "--undo", file, "--yes")
	back, err := shown.Do(ctx)
	switch {
	case err != nil && back == nil: // nothing was written
		return false, errors.Join(err, os.Remove(filepath.Clean(file)))
	case err != nil:
		return false, fmt.Errorf("%v: the move failed, but the fields may have moved: check with kubectl fieldowners get; to undo the move, run: %s (error: %w)", object, undo, err)
	}
	if err := correct(file, saved, back); err != nil {
		return false, fmt.Errorf("%v: the fields have moved, but updating the undo file failed: %w", object, err)
	}
	fmt.Fprintf(m.Out, "%v: %s moved; to undo it:\n  %s\n", object, fields(len(moves)), view.Safe(undo))
	return false, nil
}

// correct rewrites the undo file after the move, so that the file lists exactly the fields that an undo moves back.
// The saved list is wrong if the receiving manager became an owner of a listed field after the save.
func correct(path string, saved undoFile, undo *ownership.Transfer) error {
	saved.Moved = nil
	for _, back := range undo.Moves() {
		saved.Moved = append(saved.Moved, fieldowners.Handover{
			Path: back.Path, From: back.To, To: back.From, FromKeeps: back.ToOwned, ToOwned: back.FromKeeps,
		})
	}
	exact, err := saved.encode()
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Clean(path), exact, 0o600)
}

// showTransfer prints which fields move and which stay, grouped by their former and new owners.
func (e *engine) showTransfer(object apply.ObjectRef, t *ownership.Transfer) {
	moves, kept := t.Moves(), t.Unmoved()
	title := fmt.Sprintf("%v: nothing to move", object)
	if len(moves) > 0 {
		title = fmt.Sprintf("%v: %s to move", object, fields(len(moves)))
	}
	if len(kept) > 0 {
		title += fmt.Sprintf(", %d to stay", len(kept))
	}
	fmt.Fprintln(e.Out, e.Screen(false).Palette.Strong(view.Safe(title)))
	heading := ""
	under := func(text string) {
		if text != heading {
			heading = text
			fmt.Fprintln(e.Out, "  "+view.Safe(text)+":")
		}
	}
	for _, move := range moves {
		under(fmt.Sprintf("%v -> %v", move.From, move.To))
		note := ""
		switch {
		case move.FromKeeps:
			note = " (shared: both managers own the field afterwards)"
		case move.ToOwned:
			note = " (both managers own the field now)"
		}
		fmt.Fprintln(e.Out, "    "+view.Safe(move.Path.String()+note))
	}
	for _, stays := range kept {
		under(fmt.Sprintf("stay with %v", stays.Manager))
		fmt.Fprintln(e.Out, "    "+view.Safe(stays.Path.String()+": "+stays.Reason))
	}
}

func fields(n int) string { return english.Plural(n, "field", "") }
