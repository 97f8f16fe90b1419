// Package contract says what each field manager may own: per kind the paths that it applies,
// the paths that it updates, and which of them others may own as well and why.
//
// It is pure data: no client, no clock, no logging.
//
// # Contract
//
//  1. A Contract is a list of claims, one for each field manager and kind. A path stands
//     for the field and everything below it, in the notation of fieldowners.ParsePath.
//     A list item's key field goes with what is claimed of the item.
//  2. Check refuses what cannot be: names that are no field manager's, kinds and paths that
//     are none, one claim twice, and two managers that claim one field of one kind where
//     neither of them says in Shared why.
//  3. Write writes a contract as YAML, sorted, so that it can be committed and compared. Read
//     takes what Write writes and what a person writes. It is strict: an error names the line,
//     the manager, the kind and the path. What Read returns, Check has accepted.
//  4. A Comparer holds a contract against the managed fields of an object. A manager that
//     owns what it may not is a Finding. One that may own a field and does not is no finding:
//     it is listed as Unowned.
//  5. Labels, annotations, owner references and finalizers are everybody's. A claim of one of
//     these as a whole keeps nobody else from adding to it. See IsEverybodys.
//  6. An object that no manager of the contract writes to is not judged: a contract is about
//     kinds, and most Deployments of a cluster are somebody else's.
//
// What the caller does: call Check before a process starts to write, hold the contract
// against what is emitted (applytest.Owns), and compare it with a cluster now and then
// (kubectl fieldowners audit --contract FILE).
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
