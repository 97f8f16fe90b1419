// Package fieldmanagers lists every field manager of the platform and what it
// owns. A test emits every intent and proves the list: a manager claims what
// stands here and nothing else. Check, which the manager calls before it starts,
// refuses two of one name and two that claim one field.
package fieldmanagers

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"coapply.dev/apply"
)

// The field managers. A name is for ever: renaming one leaves its fields behind
// under the old name.
const (
	DevboxWorkload  = "coapply-devbox-workload"
	DevboxPower     = "coapply-devbox-power"
	DevboxNetwork   = "coapply-devbox-network"
	DevboxContent   = "coapply-devbox-content"
	User            = "coapply-user"
	License         = "coapply-license"
	NodeMaintenance = "coapply-node-maintenance"
	SlurmController = "coapply-slurm-controller"
	NodeSet         = "coapply-nodeset"
	Fights          = "coapply-fights"
)

// Claim is what a manager owns of a kind: the paths and everything below them.
type Claim struct {
	Manager string
	Kind    string // kind.group, the group left out for the core
	Paths   []string
	// Fallback says that it is written by get-modify-update: statuses and finalizers.
	// The rest is applied.
	Fallback bool
	// Shared says why some of the paths are another manager's as well; "" is that none
	// of them are.
	Shared string
}

// All lists every claim.
func All() []Claim {
	var all []Claim
	for _, claims := range [][]Claim{devbox, license, nodeMaintenance, slurm, user, fights} {
		all = append(all, claims...)
	}
	return all
}

// Contract gives what a manager applies, by kind.
func Contract(manager string) apply.Contract {
	contract := apply.Contract{}
	for _, claim := range All() {
		if claim.Manager == manager && !claim.Fallback {
			kind := schema.ParseGroupKind(claim.Kind)
			contract[kind] = append(contract[kind], claim.Paths...)
		}
	}
	return contract
}

// Names lists every field manager, once.
func Names() []string {
	var names []string
	for _, claim := range All() {
		names = append(names, claim.Manager)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
