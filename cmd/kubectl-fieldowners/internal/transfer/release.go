package transfer

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/ownership"
	"coapply.dev/cmd/kubectl-fieldowners/internal/console"
	"coapply.dev/cmd/kubectl-fieldowners/internal/objects"
	"coapply.dev/cmd/kubectl-fieldowners/internal/view"
	"coapply.dev/fieldowners"
)

type releaseCommand struct {
	engine

	manager string
}

// NewRelease returns the cobra command for "kubectl fieldowners release".
func NewRelease(p *objects.Reader) *cobra.Command {
	r := &releaseCommand{engine: engine{Reader: p}}
	cmd := &cobra.Command{
		Use:   "release TYPE/NAME ... --field-manager MANAGER",
		Short: "Give up every field that a manager applied",
		Long: `Give up every field that a manager owns by Apply. Fields that only this manager owns are
deleted from the object; fields with other owners stay. Without --yes, the command only
shows the changes.
There is no undo: keep the file that the manager applied, or save the object first by
kubectl get -o yaml --show-managed-fields.

Exit codes: 0 nothing to give up, or done; 1 fields to give up; 2 an error.`,
		Example: `  kubectl fieldowners release deployment/web --field-manager ci
  kubectl fieldowners release deployment/web service/web --field-manager ci --yes`,
		Args: cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, args []string) error { return r.run(args) },
	}
	cmd.Flags().StringVar(&r.manager, "field-manager", "", "`manager` whose fields are given up")
	r.addFlags(cmd)
	return cmd
}

func (r *releaseCommand) run(args []string) (err error) {
	if err := cmp.Or(console.CheckManager(r.cmd, "field-manager", r.manager), namesObjects(r.cmd, args)); err != nil {
		return err
	}
	if r.client, err = r.Connect(); err != nil {
		return err
	}
	ctx := r.cmd.Context()
	return r.eachNamed(ctx, args, func(object apply.ObjectRef) (bool, error) { return r.release(ctx, object) })
}

// release shows the effect of giving up the fields that the manager owns by Apply in one object. With --yes, release
// then gives up these fields. It returns true if there are fields to give up, but --yes is not given.
func (r *releaseCommand) release(ctx context.Context, object apply.ObjectRef) (found bool, err error) {
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(object.GroupVersionKind)
	if err := r.client.Get(ctx, object.NamespacedName, live); err != nil {
		return false, err
	}
	owners, err := fieldowners.Parse(live.GetManagedFields())
	if err != nil {
		return false, fmt.Errorf("%v: %w", object, err)
	}
	applier, err := r.applier(r.manager)
	if err != nil {
		return false, err
	}
	applied := r.entries(owners, metav1.ManagedFieldsOperationApply)
	for _, entry := range applied {
		if err := r.show(ctx, applier, object, entry); err != nil {
			return false, err
		}
	}
	if len(applied) == 0 {
		fmt.Fprintln(r.Out, view.Safe(fmt.Sprintf("%v: nothing to give up: %s owns no field by Apply", object, r.manager)))
	}
	r.warn(object, owners, len(applied))
	if len(applied) == 0 || !r.yes {
		return r.dryRun(len(applied)), nil
	}
	outcome, err := ownership.Release(ctx, applier, object)
	switch {
	case err != nil:
		return false, err
	case outcome.Action == apply.Absent:
		return false, fmt.Errorf("%v: nothing was given up: the object was deleted in the meantime", object)
	}
	fmt.Fprintln(r.Out, view.Safe(fmt.Sprintf("%v: the fields of %s are given up", object, r.manager)))
	return false, nil
}

// entries returns the manager's entries for an operation: first the entry for the object itself, then
// the entries for its subresources.
func (r *releaseCommand) entries(ownership fieldowners.Ownership, operation metav1.ManagedFieldsOperationType) []fieldowners.Entry {
	found := slices.DeleteFunc(slices.Clone(ownership.Entries()), func(entry fieldowners.Entry) bool {
		return entry.Name != r.manager || entry.Operation != operation
	})
	slices.SortStableFunc(found, func(a, b fieldowners.Entry) int { return cmp.Compare(a.Subresource, b.Subresource) })
	return found
}

// show prints the effect of release on the fields of one entry, as determined by a dry run. There is no dry run for
// the subresource scale: release only removes its entry, because an apply without replicas would set replicas to 0.
func (r *releaseCommand) show(ctx context.Context, applier *apply.Applier, object apply.ObjectRef, entry fieldowners.Entry) error {
	if entry.Subresource == "scale" {
		fmt.Fprintln(r.Out, view.Safe(fmt.Sprintf("%v (scale): %s gives up .spec.replicas, whose value stays", object, r.manager)))
		return nil
	}
	named := &unstructured.Unstructured{}
	named.SetGroupVersionKind(object.GroupVersionKind)
	named.SetNamespace(object.Namespace)
	named.SetName(object.Name)
	intent := apply.Intent{Config: client.ApplyConfigurationFromUnstructured(named), UID: object.UID, Subresource: entry.Subresource}
	if intent.Subresource != "" {
		intent.Body = intent.Config // without a Body, Plan rejects an intent for the subresource status that sets no status
	}
	plan, err := applier.Plan(ctx, intent)
	if apierrors.IsInvalid(err) {
		return fmt.Errorf("%w; the object is not valid without the fields that %s would give up: move these fields to another manager by kubectl fieldowners migrate --operation Apply", err, r.manager)
	}
	if err == nil {
		fmt.Fprint(r.Out, view.Visible(plan.String()))
	}
	return err
}

// warn prints a warning if the object would have no recorded owner. It prints another warning if the manager also
// owns fields by Update, because release does not give up these fields.
func (r *releaseCommand) warn(object apply.ObjectRef, ownership fieldowners.Ownership, applied int) {
	if applied > 0 && applied == len(ownership.Entries()) {
		fmt.Fprintf(r.ErrOut, "warning: %v: %s is the only recorded owner, so no field will have an owner after the release: "+
			"the next apply then makes before-first-apply the owner of all fields of the object\n", object, view.Safe(r.manager))
	}
	updated := map[string]bool{}
	for _, entry := range r.entries(ownership, metav1.ManagedFieldsOperationUpdate) {
		for _, path := range entry.Leaves() {
			updated[path.String()] = true
		}
	}
	if len(updated) > 0 {
		fmt.Fprintf(r.ErrOut, "warning: %v: release does not give up %s that %s owns by Update; to give these fields up as well, run kubectl fieldowners migrate --from %[3]s --to %[3]s first\n",
			object, fields(len(updated)), view.Safe(r.manager))
	}
}
