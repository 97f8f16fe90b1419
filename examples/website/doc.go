// Package website is a complete example of a reconciler: it defines a kind Website, computes the
// intents of its child objects and sets up the controller. docs/writing-a-reconciler.md explains
// the code; test/integration runs it on a real API server.
package website
