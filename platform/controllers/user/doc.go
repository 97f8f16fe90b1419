// Package user reconciles a User: its Namespace, and in it a ServiceAccount that may work with
// Devboxes.
//
// The Namespace comes first. Objects in it are emitted once the status says that the Namespace
// exists and is the User's, so that nothing is ever put into someone else's. Everything is
// applied and nothing is created by name, so two reconciles that race both succeed.
//
// The License owns the quota label and annotation of the Namespace (package license). It waits
// until the User's status names the Namespace.
package user
