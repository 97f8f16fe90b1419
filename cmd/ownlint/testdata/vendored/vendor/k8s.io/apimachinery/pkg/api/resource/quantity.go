// Package resource is a stub.
package resource

type Quantity struct{}
