// Package predict says what a Server-Side Apply would meet, from the live object and the
// intent alone: no request is made, and no schema is needed.
//
// # Contract
//
//  1. Apply carries out KEP-555 on paper with the API server's own structured-merge-diff.
//     What that needs of types is learned from the managed fields, and from what all kinds
//     have in common.
//  2. Nothing is guessed. Where managed fields leave open what would happen, that is a
//     Doubt, and nothing else is said of what it covers; the rest is meant for certain,
//     within the limits that Apply lists.
//  3. An object without managed fields is ErrNoManagedFields: who owns what is unknown
//     then, which is not the same as nobody.
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
