package check

import (
	"fmt"
	"strings"

	"github.com/owenrumney/go-sarif/v2/sarif"

	"coapply.dev/cmd/kubectl-fieldowners/internal/console"
)

const (
	ruleConflict = "ownership-conflict"
	ruleRefused  = "refused-field"
	ruleUnsure   = "not-certain"
	ruleTakeover = "kubectl-takeover"
)

// sarifOf returns a result for each finding of check, at its line of the file.
func sarifOf(manager string, items []result) *sarif.Run {
	run := console.NewSarif()
	run.AddRule(ruleConflict).WithDescription("Another field manager owns the field with another value").
		WithTextHelp("Leave the field out, set it to the owner's value to share it, or force the apply to take it.")
	run.AddRule(ruleRefused).WithDescription("The kind has no such field, or not of this type").
		WithTextHelp("Correct the name: kubectl explain lists the fields of a kind.")
	run.AddRule(ruleUnsure).WithDescription("What is known does not tell what an apply does here").
		WithTextHelp("Ask the API server: kubectl fieldowners check --dry-run=server.")
	run.AddRule(ruleTakeover).WithDescription("kubectl apply removes more than the file gives up").
		WithTextHelp("List the fields in the file, or apply it with another client than kubectl.")
	for _, item := range items {
		add := func(rule, level string, line int, format string, args ...any) {
			message := fmt.Sprintf("%s %s: %s", item.Kind, item.Name, fmt.Sprintf(format, args...))
			run.CreateResultForRule(rule).WithLevel(level).WithMessage(sarif.NewTextMessage(message)).AddLocation(console.LineOf(item.File, line))
		}
		for _, r := range item.Refused {
			add(ruleRefused, "error", r.Line, "the API server refuses %s: %s", r.Path, r.Reason)
		}
		for _, c := range item.Conflicts {
			add(ruleConflict, "error", c.Line, "%s cannot set %s to %s: owned by %s with %s",
				manager, c.Path, short(c.Ours), c.Owner, short(c.Theirs))
		}
		for _, u := range item.Unsure {
			if !u.Sharing {
				add(ruleUnsure, "warning", u.Line, "%s: %s", u.Path, u.Reason)
			}
		}
		if t := item.Takeover; t != nil {
			add(ruleTakeover, "warning", item.Line, "%s: %s", t, strings.Join(t.Removes, ", "))
		}
	}
	return run
}
