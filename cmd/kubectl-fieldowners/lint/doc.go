// Package lint finds what is wrong, or will go wrong, with the managed fields of an object.
//
// # Contract
//
//  1. Check judges one object by its managed fields, and by Facts: what these do not have is
//     not judged.
//  2. Each Rule was seen on a real API server. A Finding says what will surprise whom, and has
//     a command that ends it.
//  3. Nothing is guessed: without entries there are no findings, as nothing is known.
//  4. No value of the object is read, so none is in a Finding.
//  5. Findings are in the order of rules, then managers. For malformed entries the error is
//     that of fieldowners.Parse.
//
// Valid:
//
//	findings, err := lint.Check(deployment.GetManagedFields(), lint.Facts{})
//	for _, f := range findings {
//		fmt.Println(f, "\n ", f.Remedy)
//	}
//
// Invalid: the entries of an object from a cache with fieldowners.KeepOwn, where those of
// others are missing.
package lint
