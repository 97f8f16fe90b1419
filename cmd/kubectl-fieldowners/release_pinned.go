package main

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// errChanged says that the object is not at the resourceVersion that was shown, and
// whose values the undo file holds.
var errChanged = errors.New("it was changed after it was looked at: look again")

// pinned is a client for the release of one object, which Release itself binds to the
// uid only: it reads and writes nothing but the resourceVersion that was shown, and
// those that its own writes lead to.
type pinned struct {
	client.Client

	version string
	landed  []string // the subresources that were written
}

func (p *pinned) Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	err := p.Client.Get(ctx, key, into, options...)
	if err == nil && into.GetResourceVersion() != p.version {
		return errChanged
	}
	return err
}

type versioned interface {
	GetResourceVersion() string
	SetResourceVersion(version string)
}

// write pins what is sent; the client reads the answer into the same value.
func (p *pinned) write(subresource string, content any, send func() error) error {
	object, ok := content.(versioned)
	if !ok {
		return errors.New("only untyped configurations can be pinned")
	}
	object.SetResourceVersion(p.version)
	if err := send(); err != nil {
		return err
	}
	p.version = object.GetResourceVersion()
	p.landed = append(p.landed, subresource)
	return nil
}

func (p *pinned) Apply(ctx context.Context, config runtime.ApplyConfiguration, options ...client.ApplyOption) error {
	return p.write("", config, func() error { return p.Client.Apply(ctx, config, options...) })
}

// Patch is how a release takes an entry of scale away, pinned already.
func (p *pinned) Patch(ctx context.Context, into client.Object, patch client.Patch, options ...client.PatchOption) error {
	return p.write(scale, into, func() error { return p.Client.Patch(ctx, into, patch, options...) })
}

func (p *pinned) SubResource(name string) client.SubResourceClient {
	return pinnedSubresource{p.Client.SubResource(name), p, name}
}

type pinnedSubresource struct {
	client.SubResourceClient

	object *pinned
	name   string
}

func (s pinnedSubresource) Apply(ctx context.Context, config runtime.ApplyConfiguration, options ...client.SubResourceApplyOption) error {
	return s.object.write(s.name, config, func() error { return s.SubResourceClient.Apply(ctx, config, options...) })
}
