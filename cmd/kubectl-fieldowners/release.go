package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/cmd/kubectl-fieldowners/internal/ownerview"
)

type releaseCommand struct {
	*plugin

	cmd         *cobra.Command
	manager     string
	yes         bool
	undo        string
	subresource string // of the undo
	undoFile    string
	client      client.Client
}

func newRelease(p *plugin) *cobra.Command {
	r := &releaseCommand{plugin: p}
	cmd := &cobra.Command{
		Use:   "release (TYPE/NAME ... | --undo FILE) --field-manager MANAGER",
		Short: "Give up every field that a manager applied",
		Long: `Give up every field that a manager owns by Apply, of the object and of each of its
subresources. What it owns alone goes from the object, or makes room for the server's
default; what others own as well stays with them. What it owns by Update stays.

Without --yes it asks the API server by a dry run and shows what would go and what
would stay; nothing is written. With --yes it first saves files that undo it, one for
the object and one for each subresource, then writes, bound to the uid and to the
resourceVersion that was shown.

An undo file is an apply configuration with the uid of the object. It holds values,
those of a Secret too: it is readable by you alone. --undo applies it, without force.
kubectl apply --server-side takes it as well, but not where client-side kubectl apply
manages the object: it would hand all of those fields to the manager and then delete
them. A replica count that was applied through the scale subresource keeps its value,
and there is no undo of who owned it.

Exit codes: 0 nothing to give up, or done; 1 there is something; 2 an error.`,
		Example: `  kubectl fieldowners release deployment/web --field-manager ci
  kubectl fieldowners release deployment/web service/web --field-manager ci --yes
  kubectl fieldowners release --undo undo-release-deployment-web-4711.yaml --field-manager ci --yes`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { r.cmd = cmd; return r.run(args) },
	}
	flags := cmd.Flags()
	flags.StringVar(&r.manager, "field-manager", "", "`manager` whose fields are given up")
	flags.BoolVar(&r.yes, "yes", false, "do it")
	flags.StringVar(&r.undo, "undo", "", "take back what was given up, from the `file` that was saved then")
	flags.StringVar(&r.subresource, "subresource", "", "the `subresource` that the file of --undo is for")
	flags.StringVar(&r.undoFile, "undo-file", "", "`file` to save the undo in (default undo-release-KIND-NAME-RESOURCEVERSION.yaml)")
	p.completeObjects(cmd)
	return cmd
}

func (r *releaseCommand) run(args []string) (err error) {
	ctx := r.cmd.Context()
	if err := checkManager(r.cmd, "field-manager", r.manager); err != nil {
		return err
	}
	if r.cmd.Flags().Changed("undo") {
		return r.runUndo(ctx, args)
	}
	if err := namesObjects(r.cmd, args); err != nil {
		return err
	}
	switch {
	case r.subresource != "":
		return usageError(r.cmd, "--subresource is for --undo: a release is of the object and of all of its subresources")
	case r.undoFile != "" && len(args) > 1:
		return usageError(r.cmd, "--undo-file is for one object: each has files of its own")
	}
	if r.client, err = r.connect(); err != nil {
		return err
	}
	return r.eachNamed(ctx, args, func(object apply.ObjectRef) (bool, error) { return r.release(ctx, object) })
}

// release shows what is to be given up of one object, and does it if that is wanted.
func (r *releaseCommand) release(ctx context.Context, object apply.ObjectRef) (found bool, err error) {
	looked, err := r.look(ctx, object)
	if err != nil {
		return false, err
	}
	r.show(looked)
	switch {
	case len(looked.parts) == 0:
		return false, nil
	case !r.yes:
		return r.dryRun(len(looked.parts)), nil
	}
	files, commands, err := r.save(looked)
	if err != nil {
		return false, err
	}
	bound := &pinned{Client: r.client, version: looked.object.ResourceVersion}
	err = r.give(ctx, looked.object, bound)
	unclear := apply.ResultOf(err) == "Retryable" || apply.ResultOf(err) == "Cancelled"
	switch {
	case err != nil && !unclear && len(bound.landed) == 0:
		return false, errors.Join(fmt.Errorf("nothing was given up: %w", err), discard(files))
	case err != nil:
		fmt.Fprintf(r.Out, "%v: given up in part, perhaps: look again\n", object)
	default:
		fmt.Fprintf(r.Out, "%v: %s given up\n", object, fields(looked.count()))
	}
	r.tellUndo(looked, commands)
	return false, err
}

// give gives up what was shown, and no other state of the object.
func (r *releaseCommand) give(ctx context.Context, object apply.ObjectRef, bound *pinned) error {
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

func (r *releaseCommand) tellUndo(looked lookedAt, commands []string) {
	if len(commands) > 0 {
		fmt.Fprintln(r.Out, "to undo it:")
	}
	for _, command := range commands {
		fmt.Fprintln(r.Out, "  "+ownerview.Safe(command))
	}
	if len(commands) > 0 && looked.isSecret() {
		fmt.Fprintln(r.ErrOut, "warning: the undo file holds values of the Secret: delete it when it is not needed any more")
	}
}
