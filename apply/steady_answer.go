package apply

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/apply/internal/gotypes"
	"coapply.dev/apply/steady"
)

// steadyByAnswer proves by the answer to a write that applying the intent once more would change
// nothing, where a read of the object may not prove that: a Go type hides the form of a time or
// a quantity, and an intent that owns nothing has no managed fields entry. The answer shows all
// that the API server stores. The proof holds for the resourceVersion of the answer alone.
func (c *call) steadyByAnswer(ctx context.Context, key steady.Key, landed *answer) {
	if key == (steady.Key{}) || landed.sent != c.intent || !c.readsMayHide() && !c.ownsNothing(landed) {
		return
	}
	object := landed.object()
	if object == nil || c.hasContract(c.intent.Intent) && len(c.lost(object)) > 0 {
		return
	}
	read := steady.Read{Object: object, Kind: object.GroupVersionKind(), Answer: true}
	_, by, err := c.proveBy(ctx, c.intent, read)
	if err != nil {
		c.log.V(1).Info("not steady by the answer", "because", c.intent.whyNot(err))
		return
	}
	c.config.Steady.proven.Put(key, &proven{
		Print:    c.asApplied(nil, c.intent.Subresource).PrintOfVersion(read),
		onlyThis: true, schema: by, shared: c.sharedIn(object.GetManagedFields(), c.intent.Subresource),
	})
}

// readsMayHide reports whether a read of the object by the client's Go type may hide a value. An
// unstructured read hides none, and neither does the API server's own type.
func (c *call) readsMayHide() bool {
	goType := c.client.Scheme().AllKnownTypes()[c.ref.GroupVersionKind]
	return goType != nil && !gotypes.IsServersOwn(c.ref.GroupVersionKind, goType)
}

// ownsNothing reports whether an answer has no entry of the manager.
func (c *call) ownsNothing(landed *answer) bool {
	return !slices.ContainsFunc(landed.head().ManagedFields, func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager == c.config.FieldManager && e.Operation == metav1.ManagedFieldsOperationApply && e.Subresource == c.intent.Subresource
	})
}
