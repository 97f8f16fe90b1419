package generic

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"example.com/vendored/operator"
)

type pointer[T any] interface {
	*T
	client.Object
}

type store[T any, P pointer[T]] struct {
	client client.Client
	items  map[string]P
	write  func(context.Context, P) error
}

func (s *store[T, P]) ensure(ctx context.Context, names ...string) error {
	for _, name := range names {
		item := s.items[name]
		if item == nil {
			item = P(new(T))
		}
		controllerutil.AddFinalizer(item, "example.com/x")
		if err := s.client.Update(ctx, item); err != nil {
			return err
		}
		defer func() { _ = s.write(ctx, item) }()
	}
	return nil
}

func ensureOne[P client.Object](ctx context.Context, c client.Client, item P) error {
	controllerutil.AddFinalizer(item, "example.com/x")
	return c.Update(ctx, item)
}

func Use(ctx context.Context, c client.Client, cache *operator.Cache) error {
	s := &store[operator.Cache, *operator.Cache]{client: c}
	if err := s.ensure(ctx, "a"); err != nil {
		return err
	}
	return ensureOne(ctx, c, cache)
}

func UseValue(ctx context.Context, c client.Client, cache *operator.Cache) error {
	update, add := c.Update, controllerutil.AddFinalizer
	add(cache, "example.com/x")
	defer update(ctx, cache)
	go c.Update(ctx, cache)
	return client.Client.Update(c, ctx, cache)
}
