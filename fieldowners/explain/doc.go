// Package explain says what the API server's answer to an apply with conflicts means: which
// fields, whose they are, and the three ways out.
//
// # Contract
//
//  1. Answer reads the metav1.Status, the text that kubectl prints, and either quoted in a
//     log. A text that was cut off is an error, never a part of the conflicts.
//  2. What is no conflict is an error that says what it is: a stale write, a create of what
//     exists, another failure.
//  3. A field that the server names ambiguously gets a Path only where the live object, the
//     intent or the name itself leaves one; otherwise Conflict.Path is the root.
//  4. Every Way has what follows from it. Its command never deletes what is to stay.
//  5. Values of Secrets are hidden. Nothing in the text steers a terminal.
//
// Valid:
//
//	explanations, err := explain.Answer(printedByKubectl, live, intent)
//	fmt.Print(explanations[0])
//
// Invalid: one live object beside a text with the answers for several. Which of them it is
// about cannot be told: use Each, which asks for the objects of each answer.
package explain
