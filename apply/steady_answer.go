package apply

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/apply/internal/gotypes"
	"coapply.dev/apply/internal/steady"
)

// steadyByAnswer uses the API server's response to a write as a proof that applying the intent
// again would change nothing. It does so where a read of the object may not prove this. One
// reason is a Go type that does not show the stored form of a time or a quantity. The other is an
// intent that owns nothing, and so has no managed fields entry. The response shows everything
// that the API server stores. The proof holds only for the resourceVersion of the response.
func (c *call) steadyByAnswer(ctx context.Context, key steady.Key, landed *answer) {
	if key == (steady.Key{}) || landed.sent != c.intent || !c.readsMayHide() && !c.ownsNothing(landed) {
		return
	}
	object := landed.object()
	if object == nil {
		return
	}
	read := steady.Read{Object: object, Kind: object.GroupVersionKind(), Answer: true}
	now, err := c.proveBy(ctx, c.intent, read)
	if err != nil {
		c.log.V(1).Info("not steady by the answer", "because", c.intent.whyNot(err))
		return
	}
	c.config.Steady.proven.Put(key, now)
}

// readsMayHide reports whether a read into the client's Go type may fail to show a value as it is
// stored. An unstructured read shows every value, and so does the API server's own Go type.
func (c *call) readsMayHide() bool {
	goType := c.client.Scheme().AllKnownTypes()[c.ref.GroupVersionKind]
	return goType != nil && !gotypes.IsServersOwn(c.ref.GroupVersionKind, goType)
}

// ownsNothing reports whether the API server's response has no managed fields entry of this field
// manager.
func (c *call) ownsNothing(landed *answer) bool {
	return !slices.ContainsFunc(landed.head().ManagedFields, func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager == c.config.FieldManager && e.Operation == metav1.ManagedFieldsOperationApply && e.Subresource == c.intent.Subresource
	})
}
