package explain

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/fieldowners"
)

// Names in what kubectl apply --server-side does beside the apply, under any field manager
// (migrateToSSAIfNecessary in k8s.io/kubectl/pkg/cmd/apply).
const (
	takesOver = "kubectl apply takes over everything that client-side apply wrote to this object, and deletes " +
		"of it what FILE does not list and nobody else owns; other clients, such as apply.Applier, do not."
	leaveOutElsewhere = "Take the fields out of what you apply and apply again, but not with kubectl: " + takesOver +
		" With such a client the rest lands, and these fields are left to their owners. If you co-owned them, you do not any more."
)

// mayTakeOver reports whether kubectl would take the object over from client-side apply: an
// owner has client-side apply's default name, or the live object, which may be unknown, has the
// entry that kubectl looks for.
func (e Explanation) mayTakeOver(live fieldowners.Ownership) bool {
	return slices.ContainsFunc(e.Conflicts, func(c Conflict) bool {
		return c.Owner.Name == fieldowners.ClientSideApply && updatesObject(c.Owner)
	}) || slices.ContainsFunc(live.Entries(), func(entry fieldowners.Entry) bool {
		return updatesObject(entry.Manager) && entry.Owns(fieldowners.LastAppliedPath)
	})
}

// updatesObject reports whether kubectl may take fields over from an owner: one that updated
// the object itself.
func updatesObject(owner fieldowners.Manager) bool {
	return owner.Operation == metav1.ManagedFieldsOperationUpdate && owner.Subresource == ""
}

// warnOfTakeover adds to every Way what kubectl would do beside it. The way to leave fields out
// loses its command, which would delete what is to stay.
func (e *Explanation) warnOfTakeover() {
	force, leaveOut, share := &e.Ways[0], &e.Ways[1], &e.Ways[2]
	force.Why += " But " + takesOver
	leaveOut.Why, leaveOut.Command = leaveOutElsewhere, ""
	share.Why += " But " + takesOver
}
