// Package website is a complete example of a reconciler. It defines the kind Website, computes the
// intents of the child objects, and sets up the controller. docs/writing-a-reconciler.md explains
// the code. A test in test/integration runs it on a real API server.
package website
