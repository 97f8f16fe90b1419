// Package explain says what the API server's answer to an apply with conflicts means: which
// fields, whose they are, and the three ways out.
//
// # Contract
//
//  1. Answer reads the text that kubectl prints, also quoted in a log or in a Status as JSON. A
//     text that was cut off is an error, never a part of the conflicts.
//  2. An answer without conflicts is an error that says what it is: a stale write, a create of
//     what exists, another failure.
//  3. A field that the server names ambiguously has a Path only if the live object, the intent
//     or the name itself leaves one possibility; otherwise Conflict.Path is the root.
//  4. Every Way says what follows from it. Its command never deletes what is to stay.
//  5. Values of Secrets are hidden. The text cannot control a terminal.
//
// Valid:
//
//	explanations, err := explain.Answer(printedByKubectl, lives, intents)
//	fmt.Print(explanations[0])
package explain

import (
	"fmt"
	"slices"

	"coapply.dev/cmd/kubectl-fieldowners/internal/view"
	"coapply.dev/fieldowners"
	"coapply.dev/internal/command"
)

// Explanation is one answer of the API server to an apply that met conflicts. Its fields, and those
// of Conflict and Way, are what -o json and -o yaml print.
type Explanation struct {
	command.Subject // empty if the object is not known

	Conflicts []Conflict `json:"conflicts"` // as the answer lists them; one for each field and owner
	Look      string     `json:"look"`      // a command that shows who owns these fields now
	Ways      []Way      `json:"ways"`      // the ways out: force, leave out, share
}

// Conflict is one field that another manager owns and that an apply sets to
// another value.
type Conflict struct {
	Path       fieldowners.Path `json:"path"`       // the root if the field is ambiguous
	ServerPath string           `json:"serverPath"` // as the answer names the field; ambiguous
	Owner      view.OwnerItem   `json:"owner"`
	// The values, if the intent and the live object are given and have the field, else nil. Those
	// of a Secret are hidden.
	Ours   *any `json:"ours,omitempty"`
	Theirs *any `json:"theirs,omitempty"`
}

// Way is one way out of the conflicts.
type Way struct {
	Title   string `json:"title"`
	Why     string `json:"why"`     // what to do, and what follows from it
	Command string `json:"command"` // with MANAGER and FILE where the answer does not tell; "" where kubectl cannot do it
	Go      string `json:"go"`      // the policy of coapply.dev/apply that does it; an expression
}

// Answer reads the answers to applies that met conflicts: the text that kubectl and others print,
// also quoted in a log or in the API server's Status as JSON. It returns an Explanation for each
// answer, in order; other text is ignored.
//
// lives are live objects, and intents the apply configurations that were sent; both may be empty.
// They show which fields the server means, since its own strings are ambiguous, and both values. A
// live object also shows whether client-side apply wrote the object, which kubectl would take
// over; without it, only an owner's name does. Of several objects, the one that has all fields in
// conflict is meant; if several have them, no values are shown.
//
// The error says what an answer without conflicts is: a stale write, a create of what exists,
// another failure, a text that was cut off.
func Answer(answer []byte, lives, intents []map[string]any) ([]Explanation, error) {
	answers, err := readText(string(answer))
	if err != nil {
		return nil, err
	}
	var explanations []Explanation
	for _, conflicts := range answers {
		live, intent, err := objectsOf(conflicts, lives, intents, len(answers))
		if err != nil {
			return nil, err
		}
		e, err := explanationOf(conflicts, live, intent)
		if err != nil {
			return nil, err
		}
		explanations = append(explanations, e)
	}
	return explanations, nil
}

// objectsOf returns the live object and the intent that an answer is about; nil if it is not known
// which of several is meant.
func objectsOf(conflicts []Conflict, lives, intents []map[string]any, answers int) (live, intent map[string]any, err error) {
	candidates := [][]map[string]any{lives, intents}
	for i, all := range candidates {
		if len(all) == 1 && answers == 1 {
			continue
		}
		candidates[i] = slices.DeleteFunc(slices.Clone(all), func(object map[string]any) bool {
			return slices.ContainsFunc(conflicts, func(c Conflict) bool { return len(fieldowners.Locate(object, c.ServerPath)) == 0 })
		})
		if len(all) > 0 && len(candidates[i]) == 0 && answers == 1 {
			return nil, nil, fmt.Errorf("none of the %d objects of --%s has the fields in conflict: give the file that was applied",
				len(all), []string{"live", "intent"}[i])
		}
	}
	for i, all := range candidates { // of two Deployments, the one that is in the other file
		if other := candidates[1-i]; len(all) > 1 && len(other) > 0 {
			candidates[i] = slices.DeleteFunc(slices.Clone(all), func(object map[string]any) bool {
				return !slices.ContainsFunc(other, func(o map[string]any) bool { return isSame(object, o) })
			})
		}
	}
	only := func(all []map[string]any) map[string]any {
		if len(all) != 1 {
			return nil
		}
		return all[0]
	}
	return only(candidates[0]), only(candidates[1]), nil
}

// explanationOf explains the conflicts of one answer.
func explanationOf(conflicts []Conflict, live, intent map[string]any) (Explanation, error) {
	object, err := subjectOf(live, intent)
	if err != nil {
		return Explanation{}, err
	}
	entries, unread := fieldowners.EntriesOf(live)
	ownership, err := fieldowners.Parse(entries)
	if len(unread) > 0 {
		err = unread[0]
	}
	if err != nil {
		return Explanation{}, fmt.Errorf("the live object: %w", err)
	}
	e := Explanation{Subject: object}
	fields := byServerPath(ownership)
	for _, c := range conflicts {
		c.locate(fields, live, intent)
		isSecret := fieldowners.IsSecret(object.Group, object.Kind)
		c.Ours, c.Theirs = valueOf(c.Path, intent, isSecret), valueOf(c.Path, live, isSecret)
		e.Conflicts = append(e.Conflicts, c)
	}
	e.Look = e.look()
	e.Ways = e.waysOut()
	if e.mayTakeOver(ownership) {
		e.warnOfTakeover()
	}
	return e, nil
}
