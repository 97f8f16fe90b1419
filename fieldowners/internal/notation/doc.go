// Package notation is the text of paths, as fieldowners.Path documents it: elements of
// structured-merge-diff written and read.
//
// # Contract
//
//  1. Parse reads what Write writes, and returns the same elements.
//  2. Nothing that Write or Quote gives steers a terminal: what is not to be seen stands as
//     escapes of JSON.
//  3. Text that is no path is an error with its offset, never a panic.
//
// Valid:
//
//	elements, _, err := notation.Parse(`.spec.containers[name="web"].image`)
//
// Invalid: the API server's own texts, whose map keys stand unquoted.
package notation
