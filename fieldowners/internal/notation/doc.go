// Package notation writes and reads paths, elements of structured-merge-diff, as text: see
// fieldowners.Path.
//
// # Contract
//
//  1. Parse reads what Write writes, and returns the same elements.
//  2. What Text and Write return cannot control a terminal: invisible characters are written as
//     JSON escapes.
//  3. Malformed text is an error with its offset, never a panic.
//
// Valid:
//
//	elements, _, err := notation.Parse(`.spec.containers[name="web"].image`)
//
// Invalid: the API server's own texts, whose map keys stand unquoted.
package notation
