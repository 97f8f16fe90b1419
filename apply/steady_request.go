package apply

import (
	"context"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// steadyRequest is an apply as the proof sees it, and all that it needs to know of who
// applies: it has no client, and no call under way.
type steadyRequest struct {
	manager     string
	subresource string
	kind        schema.GroupVersionKind
	config      map[string]any // what is applied
	goType      reflect.Type   // of the kind, as our scheme knows it; nil where it does not
}

// steadyRead is an object as it was read. It may be the cache's own and is not written to.
type steadyRead struct {
	client.Object

	kind schema.GroupVersionKind // as our scheme knows the Go type
}

// steadyRequest gives what is applied as the proof wants it; config may be nil.
func (c *call) steadyRequest(config map[string]any) steadyRequest {
	return steadyRequest{
		manager:     c.config.FieldManager,
		subresource: c.provenAs.subresource,
		kind:        c.ref.GroupVersionKind,
		config:      config,
		goType:      c.client.Scheme().AllKnownTypes()[c.ref.GroupVersionKind],
	}
}

func (c *call) steadyRead(object client.Object) (steadyRead, error) {
	kind, err := c.client.GroupVersionKindFor(object)
	return steadyRead{object, kind}, err
}

// prove proves of the object what is left of the intent, by the server's schemas.
func (c *call) prove(ctx context.Context, form *encodedIntent, object client.Object) (exactly bool, by *knownSchema, err error) {
	read, err := c.steadyRead(object)
	if err != nil {
		return false, nil, err
	}
	request := c.steadyRequest(form.object)
	if _, _, err := request.compare(read); err != nil { // no schema is asked for in vain
		return false, nil, err
	}
	by, err = c.config.Steady.schemas.of(ctx, c.ref.GroupVersion())
	if err != nil {
		return false, nil, err
	}
	exactly, err = request.prove(read, by.converter)
	return exactly, by, err
}

// fingerprint takes that of an object, where what it depends on can be seen.
func (c *call) fingerprint(object client.Object, by *knownSchema) (now *proven, ok bool) {
	read, err := c.steadyRead(object)
	if err != nil {
		return nil, false
	}
	if now, ok = c.config.Steady.prints.of(c.steadyRequest(nil), read, by.converter); ok {
		now.schema = by
	}
	return now, ok
}
