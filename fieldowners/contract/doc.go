// Package contract says what each field manager may own: per kind the paths that it applies,
// the paths that it updates, and which of them others may own as well and why.
//
// It is pure data: no client, no clock, no logging.
//
// # Contract
//
//  1. A Contract is a list of claims, one for each field manager and kind. A path, in the
//     notation of fieldowners.ParsePath, means the field and everything below it. A claim of a
//     part of a list item includes the item's key fields.
//  2. Check refuses names that no field manager can have, malformed kinds and paths, claims
//     made twice, and two managers that claim one field of one kind if neither of them says in
//     Shared why.
//  3. Write writes a contract as YAML, sorted, so that it can be committed and compared. Read
//     takes what Write writes and what a person writes. It is strict: an error names the line,
//     the manager, the kind and the path. What Read returns, Check has accepted.
//  4. A Comparer compares a contract with the managed fields of an object. A manager that owns
//     a field that it may not own is a Finding. A field that a manager may own and does not own
//     is no finding.
//  5. Labels, annotations, owner references and finalizers are everybody's. Others may add to
//     them even if a manager claims them as a whole. See IsEverybodys.
//  6. An object is compared if a manager of the contract owns any of its fields, or if a Selector
//     matches it. Other objects are skipped: a contract is about kinds, and most Deployments of a
//     cluster belong to somebody else. If a manager owns nothing of an object that its Selector
//     matches, it has lost all its fields. A manager without a Selector has lost all its fields
//     if another manager of the contract owns a field of the object.
//
// What the caller does: call Check before a process starts to write, compare the contract with
// what is emitted (applytest.Owns), and with a cluster now and then (kubectl fieldowners audit
// --contract FILE).
//
// Valid:
//
//	contract.Contract{
//		{Manager: "shop-web", Kind: deployment, Applies: []string{".spec.template"}},
//		{Manager: "shop-power", Kind: deployment, Applies: []string{".spec.replicas"}},
//		{Manager: "shop-web", Kind: shop, Updates: []string{".status"}},
//	}
//
// Invalid: both managers claim .spec.replicas of a Deployment, and no Shared says why.
//
//	contract.Contract{
//		{Manager: "shop-web", Kind: deployment, Applies: []string{".spec"}},
//		{Manager: "shop-power", Kind: deployment, Applies: []string{".spec.replicas"}},
//	}
package contract
