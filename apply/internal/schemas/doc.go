// Package schemas fetches the API server's own schemas, in the background, and notices
// when they change.
package schemas
