package transfer

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/cmd/kubectl-fieldowners/internal/console"
	"coapply.dev/cmd/kubectl-fieldowners/internal/objects"
	"coapply.dev/cmd/kubectl-fieldowners/internal/view"
	"coapply.dev/fieldowners"
)

type releaseCommand struct {
	engine

	manager string
}

// NewRelease returns the command release.
func NewRelease(p *objects.Reader) *cobra.Command {
	r := &releaseCommand{engine: engine{Reader: p, verb: "release"}}
	cmd := &cobra.Command{
		Use:   "release (TYPE/NAME ... --field-manager MANAGER | --undo FILE)",
		Short: "Give up every field that a manager applied",
		Long: `Give up every field that a manager owns by Apply. What it owns alone is deleted from the
object; what others own as well stays. Without --yes it only shows what would happen;
with --yes it first saves a file that undoes it.

Exit codes: 0 nothing to give up, or done; 1 there is something; 2 an error.`,
		Example: `  kubectl fieldowners release deployment/web --field-manager ci
  kubectl fieldowners release deployment/web service/web --field-manager ci --yes
  kubectl fieldowners release --undo undo-release-deployment-web-4711.json --yes`,
		Args: cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, args []string) error { return r.run(args) },
	}
	cmd.Flags().StringVar(&r.manager, "field-manager", "", "`manager` whose fields are given up")
	r.addFlags(cmd)
	return cmd
}

func (r *releaseCommand) run(args []string) error {
	ctx := r.cmd.Context()
	return r.engine.run(ctx, args, func() error {
		return cmp.Or(console.CheckManager(r.cmd, "field-manager", r.manager), namesObjects(r.cmd, args))
	}, func(object apply.ObjectRef) (bool, error) { return r.release(ctx, object) })
}

// release shows which fields of one object are to be given up, and gives them up with --yes.
func (r *releaseCommand) release(ctx context.Context, object apply.ObjectRef) (found bool, err error) {
	looked, err := r.look(ctx, object)
	if err != nil {
		return false, err
	}
	r.show(looked)
	saved := newUndoFile(r.verb, looked.object)
	saved.Manager = r.manager
	for _, part := range looked.parts {
		if part.undo != nil {
			saved.GivenUp = append(saved.GivenUp, undoConfig{part.subresource, part.undo})
		}
	}
	if len(saved.GivenUp) == 0 {
		saved = undoFile{}
	}
	return r.carryOut(ctx, change{looked.object, len(looked.parts), saved, func(ctx context.Context, _, _ string) (string, error) {
		bound, written := pinned(r.client, looked.object.ResourceVersion)
		err := r.give(ctx, looked.object, bound)
		unclear := apply.ResultOf(err) == "Retryable" || apply.ResultOf(err) == "Cancelled"
		switch {
		case err == nil:
			return fields(looked.count()) + " given up", nil
		case !unclear && !written():
			return "", unwritten{fmt.Errorf("nothing was given up: %w", err)}
		}
		return "given up in part, perhaps: look again", err
	}})
}

// give gives up what was shown, and no other state of the object.
func (r *releaseCommand) give(ctx context.Context, object apply.ObjectRef, bound client.Client) error {
	applier, err := apply.New(bound, apply.Config{FieldManager: r.manager, LiveReader: bound})
	if err != nil {
		return err
	}
	outcome, err := applier.Release(ctx, object)
	if err == nil && outcome.Action == apply.Absent {
		return fmt.Errorf("%v was deleted in the meantime", object)
	}
	return err
}

// show prints what goes and what stays, and on stderr what must not be missed.
func (r *releaseCommand) show(looked lookedAt) {
	if len(looked.parts) == 0 {
		fmt.Fprintln(r.Out, view.Safe(fmt.Sprintf("%v: nothing to give up: %s applied nothing here", looked.object, r.manager)))
	}
	for _, part := range looked.parts {
		r.showPart(looked, part)
		for _, path := range part.missing {
			fmt.Fprintf(r.ErrOut, "warning: %v: %s owns %s, which the object does not have: an undo cannot bring it back\n",
				looked.object, view.Safe(r.manager), view.Safe(path.String()))
		}
	}
	if looked.isAll() {
		fmt.Fprintf(r.ErrOut, "warning: %v: %s is the only recorded owner: at the next apply, that of an undo too, the rest counts as owned by before-first-apply\n",
			looked.object, view.Safe(r.manager))
	}
	if updated := r.ownedByUpdate(looked); updated > 0 {
		fmt.Fprintf(r.ErrOut, "warning: %v: release does not give up %s that %s owns by Update; to give that up too, run kubectl fieldowners migrate --from %[3]s --to %[3]s first\n",
			looked.object, fields(updated), view.Safe(r.manager))
	}
}

// line is one field and what becomes of it.
type line struct{ head, tail string }

func (r *releaseCommand) showPart(looked lookedAt, p part) {
	var goes, stays, beside, lost []line
	for _, d := range p.plan.Dropped {
		if d.Stays {
			stays = append(stays, split(d.String(), d.Path))
		} else {
			goes = append(goes, split(d.String(), d.Path))
		}
	}
	for _, c := range p.plan.Changes {
		if !p.isTold(c.Path) {
			beside = append(beside, split(c.String(), c.Path))
		}
	}
	for _, o := range p.plan.Ownership.Lost {
		if o.Manager.Name != r.manager || o.Manager.Operation != metav1.ManagedFieldsOperationApply {
			lost = append(lost, line{o.Path.String() + ":", o.Manager.String()})
		}
	}
	subject := looked.object.String()
	if p.subresource != "" {
		subject += " (" + p.subresource + ")"
	}
	title := fmt.Sprintf("%s: %s to give up, %d to go, %d to stay", subject, fields(len(p.plan.Dropped)), len(goes), len(stays))
	fmt.Fprintln(r.Out, r.Screen(false).Palette.Strong(view.Safe(title)))
	r.section("go from the object", goes)
	r.section("stay", stays)
	r.section("change with them", beside)
	r.section("other managers lose", lost)
}

func (r *releaseCommand) section(heading string, lines []line) {
	if len(lines) > 0 {
		fmt.Fprintln(r.Out, "  "+heading+":")
	}
	for _, l := range lines {
		r.item(l.head, l.tail)
	}
}

// split splits a line of the library into the field and what becomes of it.
func split(text string, path fieldowners.Path) line {
	fate := strings.TrimPrefix(text, path.String()+": ")
	for _, said := range []string{"goes with its value ", "stays, "} { // the heading says so
		fate = strings.TrimPrefix(fate, said)
	}
	return line{path.String() + ":", fate}
}

// isTold reports whether the change of a field is already shown with one that is given up.
func (p part) isTold(path fieldowners.Path) bool {
	return slices.ContainsFunc(p.plan.Dropped, func(d apply.Dropped) bool {
		return !d.Stays && (path.HasPrefix(d.Path) || d.Path.HasPrefix(path))
	})
}

func (r *releaseCommand) ownedByUpdate(looked lookedAt) (count int) {
	var paths []string
	for _, entry := range looked.ownership.Entries() {
		if entry.Name != r.manager || entry.Operation != metav1.ManagedFieldsOperationUpdate {
			continue
		}
		for _, path := range entry.Leaves() {
			paths = append(paths, path.String())
		}
	}
	slices.Sort(paths)
	return len(slices.Compact(paths))
}
