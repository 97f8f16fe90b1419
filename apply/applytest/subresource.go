package applytest

import (
	"context"
	"encoding/json"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Status implements client.Client.
func (f *Faulty) Status() client.SubResourceWriter { return f.SubResource("status") }

// SubResource implements client.Client.
func (f *Faulty) SubResource(name string) client.SubResourceClient {
	return faultySubresource{f, name, f.Client.SubResource(name)}
}

// faultySubresource is a Faulty client of one subresource.
type faultySubresource struct {
	*Faulty

	name string
	next client.SubResourceClient
}

// callOn returns the call of a verb with the subresource of an object.
func (s faultySubresource) callOn(verb Verb, object client.Object) call {
	made := s.Faulty.callOn(verb, object)
	made.Subresource = s.name
	return made
}

func (s faultySubresource) Get(ctx context.Context, object, into client.Object, opts ...client.SubResourceGetOption) error {
	return s.do(ctx, s.callOn(VerbGet, object), func() error { return s.next.Get(ctx, object, into, opts...) }, nil)
}

func (s faultySubresource) Create(ctx context.Context, object, body client.Object, opts ...client.SubResourceCreateOption) error {
	options := (&client.SubResourceCreateOptions{}).ApplyOptions(opts)
	made := s.callOn(VerbCreate, object)
	made.DryRun = len(options.DryRun) > 0
	return write(ctx, s.Faulty, made, body, copyObject, func(body client.Object) error {
		return s.next.Create(ctx, object, body, opts...)
	})
}

// Update writes the answer into the object, or into the body if there is one.
func (s faultySubresource) Update(ctx context.Context, object client.Object, opts ...client.SubResourceUpdateOption) error {
	options := (&client.SubResourceUpdateOptions{}).ApplyOptions(opts)
	made := s.callOn(VerbUpdate, object)
	made.DryRun = len(options.DryRun) > 0
	made.uid = sent(object, options.SubResourceBody).GetUID()
	return write(ctx, s.Faulty, made, written{object, options.SubResourceBody}, written.duplicate, func(w written) error {
		return s.next.Update(ctx, w.object, append(slices.Clip(opts), client.WithSubResourceBody(w.body))...)
	})
}

// Patch writes the answer as Update does.
func (s faultySubresource) Patch(ctx context.Context, object client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
	options := (&client.SubResourcePatchOptions{}).ApplyOptions(opts)
	made := s.callOn(verbOfPatch(patch.Type()), object)
	made.DryRun, made.Forced = len(options.DryRun) > 0, isTrue(options.Force)
	if made.Verb == VerbApply {
		made.manager = options.FieldManager
		made.carry(patch.Data(sent(object, options.SubResourceBody)))
	}
	return write(ctx, s.Faulty, made, written{object, options.SubResourceBody}, written.duplicate, func(w written) error {
		return s.next.Patch(ctx, w.object, patch, append(slices.Clip(opts), client.WithSubResourceBody(w.body))...)
	})
}

// sent returns what a write of a subresource sends.
func sent(object, body client.Object) client.Object {
	if body != nil {
		return body
	}
	return object
}

// written has the object and the body, one of which the answer of a subresource is written
// into.
type written struct{ object, body client.Object }

func (w written) duplicate() (written, error) {
	w.object, _ = copyObject(w.object)
	if w.body != nil {
		w.body, _ = copyObject(w.body)
	}
	return w, nil
}

func (s faultySubresource) Apply(ctx context.Context, config runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption) error {
	options := (&client.SubResourceApplyOptions{}).ApplyOpts(opts)
	made := s.callWith(config, options.FieldManager)
	made.Subresource, made.DryRun, made.Forced = s.name, len(options.DryRun) > 0, isTrue(options.Force)
	if body := options.SubResourceBody; body != nil {
		made.carry(json.Marshal(body))
		return write(ctx, s.Faulty, made, body, copyConfig, func(body runtime.ApplyConfiguration) error {
			return s.next.Apply(ctx, config, append(slices.Clip(opts), &client.SubResourceApplyOptions{SubResourceBody: body})...)
		})
	}
	return write(ctx, s.Faulty, made, config, copyConfig, func(config runtime.ApplyConfiguration) error {
		return s.next.Apply(ctx, config, opts...)
	})
}
