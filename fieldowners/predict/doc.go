// Package predict predicts what a Server-Side Apply would do, from the live object and the
// intent alone: without a request and without a schema.
//
// # Contract
//
//  1. Apply computes the result with the API server's own structured-merge-diff (KEP-555). The
//     types that this needs are derived from the managed fields, and from what all kinds have
//     in common.
//  2. Nothing is guessed. If managed fields leave open what would happen to a field, that is a
//     Doubt, and nothing else is said about the field; the rest is certain, within the limits
//     that Apply lists.
//  3. The error for an object without managed fields is ErrNoManagedFields: its owners are
//     unknown, which does not mean that there are none.
//  4. Values of Secrets are in no result and in no error.
//  5. Neither object is changed. The order of all lists is stable.
//
// Valid:
//
//	prediction, err := predict.Apply(live, intent, "shop-web", "")
//	if err == nil && prediction.IsEmpty() {
//		// the apply would change nothing
//	}
//
// Invalid: an object from a cache that strips managed fields, or one in another apiVersion
// than the intent. Both are errors; read the object live, in the version of the intent.
package predict
