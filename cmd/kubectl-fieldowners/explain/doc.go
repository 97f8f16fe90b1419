// Package explain says what the API server's answer to an apply with conflicts means: which
// fields, whose they are, and the three ways out.
//
// # Contract
//
//  1. Answer reads the text that kubectl prints, also quoted in a log or in a Status as JSON. A
//     text that was cut off is an error, never a part of the conflicts.
//  2. An answer without conflicts is an error that says what it is: a stale write, a create of
//     what exists, another failure.
//  3. A field that the server names ambiguously has a Path only if the live object, the intent
//     or the name itself leaves one possibility; otherwise Conflict.Path is the root.
//  4. Every Way says what follows from it. Its command never deletes what is to stay.
//  5. Values of Secrets are hidden. The text cannot control a terminal.
//
// Valid:
//
//	explanations, err := explain.Answer(printedByKubectl, lives, intents)
//	fmt.Print(explanations[0])
package explain
