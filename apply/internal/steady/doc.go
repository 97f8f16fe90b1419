// Package steady proves that an apply would change nothing: neither a value nor an owner.
//
// It is pure: from a request, an object as it was read, and the API server's schemas it
// computes a proof, or the reason why there is none. It sends nothing, and does not change its
// arguments.
//
// # Contract
//
//  1. Request.Prove does what the API server does (structured-merge-diff's Updater.Apply), by
//     the same library and the server's own schemas. The manager must have exactly one managed
//     fields entry, with exactly the fields that the server would keep, and the merge must
//     change no value.
//  2. What cannot be proven is an error. Nothing is guessed about fields that the Go type of
//     the read does not have, or about unknown schemas.
//  3. In kinds whose Go type is the server's own a value may differ in form, such as 1000m
//     where the server has 1, if nobody else owns the field. So may defaults that the server
//     adds to a value that is owned as a whole: those in the schema of a custom resource, and a
//     few of the server's own kinds.
//  4. A response of the API server (Read.Answer) shows more than a read: the stored form of each
//     value, and that the manager owns nothing. A proof from a response holds only for the
//     resourceVersion of the response.
//  5. The stringData of a Secret is compared with the data into which the API server converts it.
//     The empty strategy of a Deployment or DaemonSet is compared with the default that the API
//     server restores.
//  6. KeyOf returns different keys for intents whose JSON differs. A Print hashes what the proof
//     depends on: the manager's entry, and the values that it owns. A proof for one version of
//     an object holds for another version with the same Print, if the proof was exact.
//  7. What the server does beyond Server-Side Apply, such as mutating admission, is not
//     considered.
//
// Valid:
//
//	print, err := steady.Request{
//		Manager: "shop", Kind: kind, Config: content, GoType: reflect.TypeFor[appsv1.Deployment](),
//	}.Prove(steady.Read{Object: cached, Kind: kind}, schemas)
//
// Invalid: a Read of metadata alone, or an object from a cache that strips managed fields.
// Neither shows what the proof needs, so nothing is ever proven.
package steady
