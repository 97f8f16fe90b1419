// Package fieldmanagers lists every field manager of the platform and what it
// owns. A test emits every intent and proves the list: a manager claims what
// stands here and nothing else, and no two claim one field.
package fieldmanagers

// The field managers. A name is for ever: renaming one leaves its fields behind
// under the old name.
const (
	DevboxWorkload = "coapply-devbox-workload"
	DevboxPower    = "coapply-devbox-power"
	DevboxNetwork  = "coapply-devbox-network"
)

// Claim is what a manager owns of a kind by Server-Side Apply: the paths and
// everything below them.
type Claim struct {
	Manager string
	Kind    string // kind.group, the group left out for the core
	Paths   []string
}

// Claims lists what is applied. Statuses and finalizers are written by
// get-modify-update under the same names; in .status of a Devbox the workload
// manager writes phase, lastContainerStatus and its condition, the power manager
// its condition, the network manager network and its condition. An object that was
// there before the Devbox of its name, and is someone else's, is left alone
// altogether (devbox/own.go).
var Claims = []Claim{
	{DevboxWorkload, "Deployment.apps", []string{
		".metadata.labels",
		".metadata.ownerReferences",
		".spec.selector",
		".spec.strategy",
		".spec.template",
	}},
	{DevboxPower, "Deployment.apps", []string{
		".spec.replicas",
	}},
	{DevboxNetwork, "Service", []string{
		".metadata.labels",
		".metadata.ownerReferences",
		".spec",
	}},
}
