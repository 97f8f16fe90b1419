package applytest

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// write makes a call that writes the answer into given.
func write[T any](ctx context.Context, f *Faulty, made call, given T, duplicate func(T) (T, error), send func(T) error) error {
	lost := func() {
		if other, err := duplicate(given); err == nil {
			_ = send(other) // the answer is lost: that is the fault
		}
	}
	return f.do(ctx, made, func() error { return send(given) }, lost)
}

// Create implements client.Writer.
func (f *Faulty) Create(ctx context.Context, object client.Object, opts ...client.CreateOption) error {
	made := f.callOn(VerbCreate, object)
	made.DryRun = len((&client.CreateOptions{}).ApplyOptions(opts).DryRun) > 0
	return write(ctx, f, made, object, copyObject, func(object client.Object) error {
		return f.Client.Create(ctx, object, opts...)
	})
}

// Update implements client.Writer.
func (f *Faulty) Update(ctx context.Context, object client.Object, opts ...client.UpdateOption) error {
	made := f.callOn(VerbUpdate, object)
	made.DryRun = len((&client.UpdateOptions{}).ApplyOptions(opts).DryRun) > 0
	return write(ctx, f, made, object, copyObject, func(object client.Object) error {
		return f.Client.Update(ctx, object, opts...)
	})
}

// Patch implements client.Writer. With client.Apply as patch it is an apply.
func (f *Faulty) Patch(ctx context.Context, object client.Object, patch client.Patch, opts ...client.PatchOption) error {
	options := (&client.PatchOptions{}).ApplyOptions(opts)
	made := f.callOn(verbOfPatch(patch.Type()), object)
	made.DryRun, made.Forced = len(options.DryRun) > 0, isTrue(options.Force)
	if made.Verb == VerbApply {
		made.manager = options.FieldManager
		made.carry(patch.Data(object))
	}
	return write(ctx, f, made, object, copyObject, func(object client.Object) error {
		return f.Client.Patch(ctx, object, patch, opts...)
	})
}

// Apply implements client.Writer.
func (f *Faulty) Apply(ctx context.Context, config runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	options := (&client.ApplyOptions{}).ApplyOptions(opts)
	made := f.callWith(config, options.FieldManager)
	made.DryRun, made.Forced = len(options.DryRun) > 0, isTrue(options.Force)
	return write(ctx, f, made, config, copyConfig, func(config runtime.ApplyConfiguration) error {
		return f.Client.Apply(ctx, config, opts...)
	})
}

// Delete implements client.Writer.
func (f *Faulty) Delete(ctx context.Context, object client.Object, opts ...client.DeleteOption) error {
	options := (&client.DeleteOptions{}).ApplyOptions(opts)
	made := f.callOn(VerbDelete, object)
	made.DryRun, made.uid = len(options.DryRun) > 0, ""
	if options.Preconditions != nil && options.Preconditions.UID != nil {
		made.uid = *options.Preconditions.UID
	}
	return write(ctx, f, made, object, copyObject, func(object client.Object) error {
		return f.Client.Delete(ctx, object, opts...)
	})
}

// DeleteAllOf implements client.Writer, as VerbDeleteCollection.
func (f *Faulty) DeleteAllOf(ctx context.Context, object client.Object, opts ...client.DeleteAllOfOption) error {
	options := (&client.DeleteAllOfOptions{}).ApplyOptions(opts)
	made := f.callOn(VerbDeleteCollection, object)
	made.Namespace, made.Name, made.DryRun = options.Namespace, "", len(options.DryRun) > 0
	return write(ctx, f, made, object, copyObject, func(object client.Object) error {
		return f.Client.DeleteAllOf(ctx, object, opts...)
	})
}
