// Package client is a stub.
package client

import "context"

type Object interface {
	GetFinalizers() []string
	SetFinalizers([]string)
	SetResourceVersion(string)
}

type (
	UpdateOption interface{ update() }
	PatchOption  interface{ patch() }
	Patch        interface{ merge() }
)

type Client interface {
	Update(ctx context.Context, obj Object, opts ...UpdateOption) error
	Patch(ctx context.Context, obj Object, patch Patch, opts ...PatchOption) error
}

type MergeFromWithOptimisticLock struct{}

func MergeFromWithOptions(Object, ...MergeFromWithOptimisticLock) Patch { return nil }
