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
)

// exchange is what became known of the object in one call of the drop-in client. An
// Applier leaves the caller's configuration alone, and client.Apply reads the answer into
// it.
type exchange struct {
	cached client.Object              // as the cache has it; it may be the cache's own
	answer runtime.ApplyConfiguration // as the server answered the last apply
	err    error                      // as the server refused it
	with   client.ApplyOptions        // beside what the Applier says
}

type exchangeKey struct{}

// exchangeOf is nil where nobody asks for the answer.
func exchangeOf(ctx context.Context) *exchange {
	e, _ := ctx.Value(exchangeKey{}).(*exchange)
	return e
}

// sent notes what became of an apply.
func (e *exchange) sent(answer runtime.ApplyConfiguration, err error) error {
	if e == nil {
		return err
	}
	if e.err = err; err == nil {
		e.answer = answer
	}
	return err
}

func (e *exchange) options() *client.ApplyOptions {
	if e == nil {
		return &client.ApplyOptions{}
	}
	return &e.with
}

// writeTo has the configuration hold the object, as client.Apply does: as the server
// answered, or where nothing was sent as the cache has it.
func (e *exchange) writeTo(config runtime.ApplyConfiguration) error {
	var object any = e.answer
	if e.answer == nil {
		object = e.cached
	}
	if content, ok := object.(unstructuredConfig); ok {
		object = content.UnstructuredContent()
	}
	raw, err := json.Marshal(object)
	if err != nil {
		return fmt.Errorf("coapply: the answer: %w", err)
	}
	into, ok := config.(unstructuredConfig)
	if !ok {
		return json.Unmarshal(raw, config)
	}
	before := into.UnstructuredContent()
	content := map[string]any{"apiVersion": before["apiVersion"], "kind": before["kind"]} // a cached object has none
	if err := utiljson.Unmarshal(raw, &content); err != nil {
		return fmt.Errorf("coapply: the answer: %w", err)
	}
	into.SetUnstructuredContent(content)
	return nil
}

// unstructuredConfig is what client.ApplyConfigurationFromUnstructured gives.
type unstructuredConfig interface {
	UnstructuredContent() map[string]any
	SetUnstructuredContent(content map[string]any)
}

// explain adds the server's answer to a typed error that is not about it, such as that of
// an object with another uid: what client.Apply would have returned can be asked for too.
func (e *exchange) explain(err error) error {
	var status apierrors.APIStatus
	if e.err == nil || errors.As(err, &status) {
		return err
	}
	return &answeredError{err, e.err}
}

type answeredError struct{ typed, answer error }

func (e *answeredError) Error() string { return e.typed.Error() }

// Unwrap gives both.
func (e *answeredError) Unwrap() []error { return []error{e.typed, e.answer} }

// sender sends what Appliers apply, by the manager's client.
type sender struct {
	client.Client

	rt *Runtime
}

func (s sender) Apply(ctx context.Context, config runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	if err := s.rt.mayApply(ctx, config); err != nil {
		return err
	}
	e := exchangeOf(ctx)
	return e.sent(config, s.Client.Apply(ctx, config, append(opts, e.options())...))
}

// Patch is how fields are taken back and moved.
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

// mayApply refuses what is not to be sent.
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
	with := &client.SubResourceApplyOptions{ApplyOptions: *e.options()}
	return e.sent(config, s.SubResourceClient.Apply(ctx, config, append(opts, with)...))
}

// reader shows the check for steady states the objects in the manager's cache that may be
// applied to. Any other is not proven to be as wanted, so that the apply is refused and
// says why.
type reader struct {
	client.Client

	rt           *Runtime
	fieldManager string
}

func (r reader) Get(ctx context.Context, key client.ObjectKey, object client.Object, opts ...client.GetOption) error {
	if err := r.rt.mayWriteIn(ctx, key.Namespace); err != nil {
		return errors.New(err.Error()) // it is no answer of the server's about rights
	}
	if err := r.Client.Get(ctx, key, object, opts...); err != nil {
		return err
	}
	if e := exchangeOf(ctx); e != nil {
		e.cached = object
	}
	r.rt.lookForStripped(ctx, r.fieldManager, object)
	return nil
}
