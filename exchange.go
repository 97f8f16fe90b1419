package coapply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
)

// exchange records the cached object and the API server's response during a call of Client.Apply. Client.Apply then
// writes one of these two objects into the caller's apply configuration (see writeTo), because an Applier does not
// change this configuration.
type exchange struct {
	cached client.Object              // the cached object that was read to prove a no-op; must not be changed
	answer runtime.ApplyConfiguration // the API server's response to the last apply
	err    error                      // the error of the last apply
	with   client.ApplyOptions        // options that are added to each apply that the Applier sends
}

type exchangeKey struct{}

// exchangeOf returns the exchange that Client.Apply has put into the context. If there is none, it returns an empty
// exchange.
func exchangeOf(ctx context.Context) *exchange {
	if e, ok := ctx.Value(exchangeKey{}).(*exchange); ok {
		return e
	}
	return &exchange{}
}

// sent records the response to one apply, or its error, and returns the error unchanged.
func (e *exchange) sent(answer runtime.ApplyConfiguration, err error) error {
	if e.err = err; err == nil {
		e.answer = answer
	}
	return err
}

// writeTo writes the applied object into the caller's apply configuration, as client.Apply does. This is the object in
// the API server's response or, if no request was sent, the cached object.
func (e *exchange) writeTo(config runtime.ApplyConfiguration) error {
	var object any = e.answer
	if e.answer == nil {
		object = e.cached
	}
	raw, err := json.Marshal(object)
	if err != nil {
		return fmt.Errorf("coapply: encoding the applied object for the caller's configuration: %w", err)
	}
	into, ok := config.(runtime.Unstructured)
	if !ok {
		return json.Unmarshal(raw, config)
	}
	before := into.UnstructuredContent()
	content := map[string]any{"apiVersion": before["apiVersion"], "kind": before["kind"]} // a typed cached object may lack both fields
	if err := utiljson.Unmarshal(raw, &content); err != nil {
		return fmt.Errorf("coapply: decoding the applied object into the caller's configuration: %w", err)
	}
	into.SetUnstructuredContent(content)
	return nil
}

// explain adds the API server's error to an error of package apply that does not wrap the API server's error, such as a
// UIDMismatchError. errors.As then finds the API server's error, as in an error of client.Apply. explain does not add NotFound to a
// RefusedError: the object may exist, for example if the kind has no such subresource, and the caller would wrongly conclude that
// the object does not exist.
func (e *exchange) explain(err error) error {
	var status apierrors.APIStatus
	switch {
	case e.err == nil, errors.As(err, &status), errors.Is(err, apply.ErrRefused) && apierrors.IsNotFound(e.err):
		return err
	}
	return &answeredError{err, e.err}
}

type answeredError struct{ typed, answer error }

func (e *answeredError) Error() string { return e.typed.Error() }

func (e *answeredError) Unwrap() []error { return []error{e.typed, e.answer} }

// sender is the client that the Appliers of a Runtime use for their writes. It wraps the manager's client. Before each
// write, it checks whether the write is allowed (see mayApply and mayWriteIn).
type sender struct {
	client.Client

	rt *Runtime
}

// Get implements client.Client. An Applier calls it to read the object of an intent with MustExist or Belongs.
func (s sender) Get(ctx context.Context, key client.ObjectKey, object client.Object, opts ...client.GetOption) error {
	return s.rt.get(ctx, key, object, opts...)
}

func (s sender) Apply(ctx context.Context, config runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	if err := s.rt.mayApply(ctx, config); err != nil {
		return err
	}
	e := exchangeOf(ctx)
	return e.sent(config, s.Client.Apply(ctx, config, append(opts, &e.with)...))
}

// Patch implements client.Client. Package ownership calls it to change managed fields.
func (s sender) Patch(ctx context.Context, object client.Object, patch client.Patch, opts ...client.PatchOption) error {
	if err := s.rt.mayWriteIn(ctx, object.GetNamespace()); err != nil {
		return err
	}
	return s.Client.Patch(ctx, object, patch, opts...)
}

func (s sender) Status() client.SubResourceWriter { return s.SubResource("status") }

func (s sender) SubResource(name string) client.SubResourceClient {
	return subresourceSender{s.Client.SubResource(name), s.rt}
}

// mayApply returns an error if an apply configuration must not be applied: because the manager's cache strips managed
// fields, or because Within does not allow writes in the namespace.
func (rt *Runtime) mayApply(ctx context.Context, config runtime.ApplyConfiguration) error {
	if err := rt.refusal(); err != nil || rt.within == nil {
		return err
	}
	return rt.mayWriteIn(ctx, objectOf(config).Namespace)
}

type subresourceSender struct {
	client.SubResourceClient

	rt *Runtime
}

func (s subresourceSender) Apply(ctx context.Context, config runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption) error {
	if err := s.rt.mayApply(ctx, config); err != nil {
		return err
	}
	e := exchangeOf(ctx)
	with := &client.SubResourceApplyOptions{ApplyOptions: e.with}
	return e.sent(config, s.SubResourceClient.Apply(ctx, config, append(opts, with)...))
}

// reader reads the object that an Applier compares with an intent, to prove that the intent is a no-op. It reads from the manager's
// cache, or from the API server if another informer of the kind may have a newer version. It returns an error if Within does not
// allow writes in the namespace. There is then no proof, and the Applier's attempt to write returns an error that names the reason.
type reader struct {
	client.Client

	rt           *Runtime
	fieldManager string
}

func (r reader) Get(ctx context.Context, key client.ObjectKey, object client.Object, opts ...client.GetOption) error {
	if err := r.rt.mayWriteIn(ctx, key.Namespace); err != nil {
		return errors.New(err.Error()) // drops the type: the caller would take a Forbidden for missing RBAC rights of the cache
	}
	if err := r.rt.get(ctx, key, object, opts...); err != nil {
		return err
	}
	exchangeOf(ctx).cached = object
	r.rt.lookForStripped(ctx, r.fieldManager, object)
	return nil
}
