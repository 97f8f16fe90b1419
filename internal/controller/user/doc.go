// Package user reconciles a User: its Namespace, and in that a ServiceAccount that
// may work with Devboxes.
//
// The Namespace comes first. What goes into it is emitted once the status says that
// the Namespace is there and is the User's, so that nothing is ever put into one that
// is someone else's. Everything is applied and nothing is created by name, so two
// reconciles that race both succeed.
//
// A Namespace is co-owned: its quota label and annotation are the License's (package
// license), which waits for the status here to name the Namespace.
package user
