// Package website is a reconciler of one's own, complete: a kind, what it emits, and
// how it is wired. docs/writing-a-reconciler.md goes through it; test/integration runs
// it on a real API server.
package website
