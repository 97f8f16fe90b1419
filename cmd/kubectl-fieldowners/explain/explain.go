// Package explain explains the API server's response to an apply that has conflicts. It shows which fields conflict,
// who owns them, and the three ways to resolve the conflicts.
//
// # Contract
//
//  1. Answer reads the text that kubectl apply prints. A log or a Status in JSON may quote the text. For a truncated
//     text, Answer returns an error, never an incomplete list.
//  2. For a response without conflicts, Answer returns an error that names the actual failure: a stale write, a create
//     of an object that already exists, or another failure.
//  3. The API server's string for a field may stand for several fields. Conflict.Path is set only if the live object,
//     the intent (the applied configuration) or the string itself leaves one possible field. Otherwise Conflict.Path is
//     the root path.
//  4. Every Way describes its consequences. No command of a Way deletes the fields in conflict.
//  5. Values of Secrets are hidden. The text of an Explanation contains no control characters that could control a
//     terminal.
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

// Explanation explains one response of the API server to an apply that had conflicts. With -o json and -o yaml, the
// command explain prints values of this type.
type Explanation struct {
	command.Subject // the object that was applied; its fields are empty if unknown

	Conflicts []Conflict `json:"conflicts"` // in the order of the response; one for each field and owner
	Look      string     `json:"look"`      // a command that shows who owns the fields in conflict now
	Ways      []Way      `json:"ways"`      // the three ways to resolve the conflicts: force, leave out, share
}

// Conflict is one field that an apply would change although another field manager owns the field.
type Conflict struct {
	Path       fieldowners.Path `json:"path"`       // the root path if ServerPath may stand for several fields
	ServerPath string           `json:"serverPath"` // the API server's string for the field, such as .spec.replicas
	Owner      view.OwnerItem   `json:"owner"`      // the field manager that owns the field
	// Ours is the field's value in the applied configuration, and Theirs its value in the live object.
	// Each is nil if that object is not known or lacks the field. Values of a Secret are hidden.
	Ours   *any `json:"ours,omitempty"`
	Theirs *any `json:"theirs,omitempty"`
}

// Way is one of the three ways to resolve the conflicts.
type Way struct {
	Title   string `json:"title"`   // a heading, such as "Force: take the fields"
	Why     string `json:"why"`     // what to do, and the consequences
	Command string `json:"command"` // has placeholders MANAGER and FILE; "" if kubectl would delete the fields in conflict
	Go      string `json:"go"`      // a policy of coapply.dev/apply with the same effect, as a Go expression
}

// Answer explains the API server's responses to applies that had conflicts. answer is the text that kubectl or another
// client printed. A log or a Status in JSON may quote the text. Answer returns an Explanation for each response, in
// order, and ignores other text.
//
// lives are live objects, and intents are the apply configurations that were sent. Both may be empty. Answer uses them
// for three purposes:
//   - to find the fields in conflict, because the API server's strings for fields are ambiguous;
//   - to show the applied and the live value of each field;
//   - to find out whether client-side apply wrote the object. If so, kubectl apply --server-side would also take over
//     the fields of client-side apply. Without a live object, only the names of the owners can show this.
//
// If there are several lives or intents, Answer uses the object that has all fields in conflict. If more than one
// object has all these fields, no values are shown.
//
// For a response without conflicts the error names the actual failure: a stale write, a create of an object that
// already exists, a truncated text, or another failure.
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

// objectsOf returns the live object and the intent of one response: the objects that have all fields in conflict. If
// several objects have these fields, the live object and the intent must also be the same object. A result is nil if no
// object or several objects remain. If the text has only one response (answers is 1), objectsOf does not check the
// fields of a single object, but returns an error if none of several objects has the fields.
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
			return nil, nil, fmt.Errorf("none of the %d objects from --%s has the fields in conflict: give a file with the object of the failed apply",
				len(all), []string{"live", "intent"}[i])
		}
	}
	for i, all := range candidates { // of several live objects, keep those that an intent is for, and vice versa
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
