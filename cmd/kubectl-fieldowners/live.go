package main

import (
	"context"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/cmd/kubectl-fieldowners/internal/console"
	"coapply.dev/cmd/kubectl-fieldowners/internal/objects"
)

// eachNamed handles the objects that arguments name, one after another. It goes on
// after one that fails, and says each error on stderr. The error says that
// something was found, or that something failed.
func (u *undoable) eachNamed(ctx context.Context, args []string, handle func(apply.ObjectRef) (found bool, err error)) error {
	all, err := u.named(args)
	failed, found := u.Say(err), false
	for _, object := range all {
		finds, err := handle(object)
		failed, found = u.Say(err) || failed, finds || found
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
func (u *undoable) named(args []string) (found []apply.ObjectRef, err error) {
	builder, err := u.Builder(objects.Selection{})
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
