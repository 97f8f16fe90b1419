// Package peers measures what coapply promises of speed, beside the ways that others take, and prints one table:
// `compare bench`. Its arms and its workload are also known to `compare run`. See docs/benchmarking.md.
package peers

import (
	"errors"

	"coapply.dev/compare"
	"coapply.dev/compare/peers/arms"
	"coapply.dev/compare/peers/deployment"
)

// ErrMissed is what the command ends with when a must is missed, or an update was lost.
var ErrMissed = errors.New("a must is missed")

// With returns the catalogue with the peers as arms and the Deployment as a workload more.
func With(c compare.Catalogue) compare.Catalogue {
	c.Arms = append(c.Arms, arms.All()...)
	c.Workloads = append(c.Workloads, deployment.Hot())
	return c
}
