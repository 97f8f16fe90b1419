// Package lint finds what is wrong, or will go wrong, with the managed fields of an object.
//
// # Contract
//
//  1. Check judges one object by its managed fields; what they do not say is in Facts, and
//     what is not given there is not judged.
//  2. Each Rule has come about on a real API server. A Finding says what will surprise whom,
//     and has a command that ends it.
//  3. Nothing is guessed: no entries give no findings, as nothing is known then.
//  4. No value of the object is read, so none is in a Finding.
//  5. The order is that of rules, then managers. Malformed entries are the error of
//     fieldowners.Parse.
//
// RuleFight and RuleLoop name what only a watch sees, so that reports have one list of
// rules: package fights finds them, and Check does not.
//
// Valid:
//
//	findings, err := lint.Check(deployment.GetManagedFields(), lint.Facts{})
//	for _, f := range findings {
//		fmt.Println(f, "\n ", f.Remedy)
//	}
//
// Invalid: the entries of an object from a cache with fieldowners.KeepOwn. Those of others
// are missing there, and so is what they do.
package lint
