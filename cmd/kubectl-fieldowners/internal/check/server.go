package check

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/cmd/kubectl-fieldowners/internal/objects"
	"coapply.dev/fieldowners/predict"
)

// checkByServer returns what an apply of one object would do, by a dry run of the API server.
func (c *command) checkByServer(ctx context.Context, of objects.Item) (result, error) {
	live := c.client
	wanted := &unstructured.Unstructured{Object: of.Content}
	if err := c.completeNamespace(wanted); err != nil {
		return result{}, err
	}
	applier, err := apply.New(live, apply.Config{FieldManager: c.manager, LiveReader: live})
	if err != nil {
		return result{}, err
	}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(wanted.GroupVersionKind())
	err = live.Get(ctx, client.ObjectKeyFromObject(wanted), object)
	if client.IgnoreNotFound(err) != nil {
		return result{}, err
	}
	if err != nil {
		object.Object = nil
	}
	plan, err := applier.Plan(ctx, apply.Intent{
		Config: client.ApplyConfigurationFromUnstructured(wanted.DeepCopy()), Subresource: c.subresource,
	})
	if err != nil {
		return result{}, err
	}
	if plan.Refused != nil && !errors.Is(plan.Refused, apply.ErrConflict) {
		return result{}, plan.Refused
	}
	item := newResult(of, object.Object)
	item.planned(plan)
	return item, nil
}

// completeNamespace sets the namespace of an object that has none to that of the command line.
func (c *command) completeNamespace(wanted *unstructured.Unstructured) error {
	namespace, err := c.namespaceOf(wanted.GroupVersionKind(), wanted.GetNamespace())
	wanted.SetNamespace(namespace)
	return err
}

// planned fills in what the API server's dry run returned.
func (i *result) planned(p apply.Plan) {
	found := predict.Prediction{Creates: p.Action == apply.Created, Shared: p.Shared, Changes: p.Changes}
	for _, c := range p.Conflicts {
		i.conflict(c.Path, c.ServerPath, c.Manager, c.Ours, c.Theirs)
	}
	for _, d := range p.Dropped {
		found.Dropped = append(found.Dropped, predict.Dropped{Path: d.Path, Removed: !d.Stays, KeptBy: d.Owners})
	}
	i.predicted(found)
}
