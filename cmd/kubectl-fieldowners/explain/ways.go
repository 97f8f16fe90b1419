package explain

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/cmd/kubectl-fieldowners/internal/view"
	"coapply.dev/fieldowners"
	"coapply.dev/internal/command"
)

const applyCommand = "kubectl apply --server-side --field-manager MANAGER -f FILE"

// waysOut returns the three ways to resolve conflicts that KEP-555 (Server-Side Apply) describes.
func (e Explanation) waysOut() []Way {
	return []Way{
		{
			Title: "Force: take the fields",
			Why: "Your values are written. The command takes every field in conflict, the policy only the fields that it names. " +
				e.perOwner(afterForce),
			Command: strings.Replace(applyCommand, "--server-side", "--server-side --force-conflicts", 1),
			Go:      e.policy("Force"),
		},
		{
			Title: "Relinquish: leave the fields out",
			Why: "Take the fields out of the file and apply again. The rest of the file is applied; the fields keep the live values " +
				"and stay with their owners. If you co-owned them, you no longer do.",
			Command: applyCommand,
			Go:      e.policy("Relinquish"),
		},
		{
			Title: "Share: take over the live values",
			Why: "In the file, set the fields to their live values, and apply again. You and the other owner then own the fields " +
				"together. If the other owner gives up the fields, you still own them. " + e.perOwner(afterShare),
			Command: applyCommand,
			Go:      e.policy("Share"),
		},
	}
}

// perOwner returns one sentence for each owner in conflict, such as "a: RESULT.". The given function returns the result
// for one owner. Owners with the same result share a sentence, such as "a, b: RESULT.".
func (e Explanation) perOwner(what func(view.OwnerItem) string) string {
	owners := map[string][]string{}
	var order []string
	for _, c := range e.Conflicts {
		follows := what(c.Owner)
		if len(owners[follows]) == 0 {
			order = append(order, follows)
		}
		if owner := c.Owner.String(); !slices.Contains(owners[follows], owner) {
			owners[follows] = append(owners[follows], owner)
		}
	}
	var sentences []string
	for _, follows := range order {
		sentences = append(sentences, strings.Join(owners[follows], ", ")+": "+follows+".")
	}
	return strings.Join(sentences, " ")
}

// afterForce describes the effect of the owner's next write after a forced apply has taken the field from this owner.
func afterForce(owner view.OwnerItem) string {
	switch {
	case madeByServer(owner.Name):
		return "this name stands for earlier writers and never writes again"
	case owner.Operation == metav1.ManagedFieldsOperationUpdate:
		return "the next write of another value takes the field back, without a conflict"
	}
	return "the next apply of this owner conflicts with you; if it is forced as well, the value keeps changing"
}

// afterShare describes the effect of the owner's next write while the owner shares the field with the user.
func afterShare(owner view.OwnerItem) string {
	switch {
	case madeByServer(owner.Name):
		return "this name stands for earlier writers and never writes again, but the field stays on the object if you leave it out later"
	case owner.Operation == metav1.ManagedFieldsOperationUpdate:
		return "the next write of another value takes the field from you, without a conflict"
	}
	return "the next apply of another value conflicts with you"
}

// madeByServer reports whether the API server uses this name for earlier writers whose own names are not recorded.
func madeByServer(name string) bool {
	return name == fieldowners.BeforeFirstApply || name == fieldowners.AncientChanges
}

// look returns the command that shows the current owners of the fields in conflict.
func (e Explanation) look() string {
	get := "kubectl fieldowners get " + e.Target()
	paths := map[string]bool{}
	for _, c := range e.Conflicts {
		paths[c.Path.String()] = true
	}
	if only := e.Conflicts[0].Path; len(paths) == 1 && !only.IsRoot() {
		get += " --path " + command.Quote(only.String())
	}
	return get
}

// policy returns a policy of package apply as a Go expression. The policy has the given decision, such
// as Force, for the conflicts of e, and rejects all other conflicts. It matches a conflict by its
// field, or by its owner if the field is ambiguous.
func (e Explanation) policy(decision string) string {
	expression := "apply.OnConflict(apply.Reject)"
	var rules []string
	for _, c := range e.Conflicts {
		rule := fmt.Sprintf("At(%s, apply.%s)", goQuote(c.Path.String()), decision)
		if c.Path.IsRoot() {
			rule = whenOwner(c.Owner, decision)
		}
		if !slices.Contains(rules, rule) {
			rules = append(rules, rule)
		}
	}
	if line := expression + "." + rules[0]; len(rules) == 1 && len(line) <= columns-indented-2 {
		return line
	}
	return expression + ".\n\t" + strings.Join(rules, ".\n\t")
}

// whenOwner returns the policy's rule for conflicts with an owner, as Go code on one or more lines.
func whenOwner(owner view.OwnerItem, decision string) string {
	match := fmt.Sprintf("Manager: %s, Operation: %q", goQuote(owner.Name), owner.Operation)
	rule := fmt.Sprintf("When(apply.Match{%s}, apply.%s)", match, decision)
	if len(rule) < columns-2*indented {
		return rule
	}
	return fmt.Sprintf("When(apply.Match{\n\t\t%s,\n\t}, apply.%s)", match, decision)
}

func goQuote(s string) string {
	if strings.Contains(s, `"`) && strconv.CanBackquote(s) {
		return "`" + s + "`"
	}
	return strconv.Quote(s)
}

// takesOver and leaveOutElsewhere are warnings about kubectl apply --server-side. In addition to the
// apply, kubectl takes over the fields of client-side apply, whatever the field manager is
// (migrateToSSAIfNecessary in k8s.io/kubectl/pkg/cmd/apply).
const (
	takesOver = "kubectl apply takes over everything that client-side apply wrote to this object, and deletes " +
		"the fields that FILE does not list and nobody else owns; other clients, such as apply.Applier, do not."
	leaveOutElsewhere = "Take the fields out of the file and apply again, but not with kubectl: " + takesOver +
		" With another client, the rest of the file is applied, and the fields stay with their owners. If you co-owned them, you no longer do."
)

// mayTakeOver reports whether kubectl would take over the fields that client-side apply wrote. This is the case if an
// owner in conflict has client-side apply's default name. It is also the case if live has an Update entry that owns the
// last-applied annotation. live is empty if the live object is not known.
func (e Explanation) mayTakeOver(live fieldowners.Ownership) bool {
	return slices.ContainsFunc(e.Conflicts, func(c Conflict) bool {
		return c.Owner.Name == fieldowners.ClientSideApply && updatesObject(c.Owner)
	}) || slices.ContainsFunc(live.Entries(), func(entry fieldowners.Entry) bool {
		return updatesObject(view.Owner(entry.Manager)) && entry.Owns(fieldowners.LastAppliedPath)
	})
}

// updatesObject reports whether an owner's managed fields entry records updates of the object itself, not of a
// subresource. kubectl takes over fields only from such owners.
func updatesObject(owner view.OwnerItem) bool {
	return owner.Operation == metav1.ManagedFieldsOperationUpdate && owner.Subresource == ""
}

// warnOfTakeover adds to each Way the warning that kubectl also takes over the fields of client-side apply. From the
// Way to leave fields out, it also removes the command, because kubectl may delete these fields.
func (e *Explanation) warnOfTakeover() {
	force, leaveOut, share := &e.Ways[0], &e.Ways[1], &e.Ways[2]
	force.Why += " But " + takesOver
	leaveOut.Why, leaveOut.Command = leaveOutElsewhere, ""
	share.Why += " But " + takesOver
}
