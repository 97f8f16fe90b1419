package explain

import (
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/fieldowners"
	"coapply.dev/fieldowners/command"
)

// Explanation is one answer of the API server to an apply that met conflicts.
type Explanation struct {
	Object    command.Subject
	Conflicts []Conflict // as the answer lists them; one for each field and owner
	Look      string     // a command that shows who owns these fields now
	Ways      []Way      // the ways out: force, leave out, share
}

// Conflict is one field that another manager owns and that an apply sets to
// another value.
type Conflict struct {
	ServerPath string           // as the answer names the field; ambiguous
	Path       fieldowners.Path // the root if the field is ambiguous
	Owner      fieldowners.Manager

	// The values, if the intent and the live object are given and have the field. Those of a
	// Secret are hidden.
	Ours, Theirs           any
	OursKnown, TheirsKnown bool
}

// Way is one way out of the conflicts.
type Way struct {
	Title   string `json:"title"`
	Why     string `json:"why"`     // what to do, and what follows from it
	Command string `json:"command"` // with MANAGER and FILE where the answer does not tell; "" where kubectl cannot do it
	Go      string `json:"go"`      // the policy of coapply.dev/apply that does it; an expression
}

// Answer reads the answer to an apply that met conflicts: the API server's metav1.Status, as
// JSON or YAML, or the text that kubectl and others print of it, also quoted in a log. For a
// text with the answers for several objects it returns an Explanation for each, in order; other
// text is ignored.
//
// live and intent, the apply configuration that was sent, may be nil. They show which fields
// the server means, since its own strings are ambiguous, and both values. live also shows
// whether client-side apply wrote the object, which kubectl would take over; without it, only
// an owner's name does. They are about one object: for several answers use Each.
//
// The error says what an answer without conflicts is: a stale write, a create of what exists,
// another failure, a text that was cut off.
func Answer(answer []byte, live, intent map[string]any) ([]Explanation, error) {
	if answers, _ := readAnswers(answer); len(answers) > 1 && (live != nil || intent != nil) {
		return nil, fmt.Errorf("the text has the answers for %d objects, and does not say which of them the live object or the intent is: give one answer, or neither of the two", len(answers))
	}
	return Each(answer, func(Explanation) (map[string]any, map[string]any, error) { return live, intent, nil })
}

// Each is Answer for a text with the answers for several objects. objects is called with the
// Explanation that is possible without objects, and returns the live object and the intent of
// that answer, nil if it does not have them.
func Each(answer []byte, objects func(Explanation) (live, intent map[string]any, err error)) ([]Explanation, error) {
	answers, err := readAnswers(answer)
	if err != nil {
		return nil, err
	}
	var explanations []Explanation
	for _, a := range answers {
		e, err := a.explain(nil, nil)
		if err != nil {
			return nil, err
		}
		live, intent, err := objects(e)
		if err != nil {
			return nil, err
		}
		if e, err = a.explain(live, intent); err != nil {
			return nil, err
		}
		explanations = append(explanations, e)
	}
	return explanations, nil
}

// conflictAnswer is the content of one answer.
type conflictAnswer struct {
	object command.Subject
	causes []Conflict // without paths and values
}

func (a conflictAnswer) explain(live, intent map[string]any) (Explanation, error) {
	object, err := a.subject(live, intent)
	if err != nil {
		return Explanation{}, err
	}
	ownership, err := ownershipOf(live)
	if err != nil {
		return Explanation{}, fmt.Errorf("the live object: %w", err)
	}
	e := Explanation{Object: object}
	fields := byServerPath(ownership)
	for _, c := range a.causes {
		c.locate(fields, live, intent)
		c.setValues(live, intent, fieldowners.IsSecret(object.Group, object.Kind))
		e.Conflicts = append(e.Conflicts, c)
	}
	e.Look = e.look()
	e.Ways = e.waysOut()
	if e.mayTakeOver(ownership) {
		e.warnOfTakeover()
	}
	return e, nil
}

// causesOf returns the conflicts that a Status lists.
func causesOf(status metav1.Status) ([]Conflict, error) {
	var found []Conflict
	if status.Details == nil {
		return nil, nil
	}
	for i, cause := range status.Details.Causes {
		if cause.Type != metav1.CauseTypeFieldManagerConflict {
			continue
		}
		owner, err := fieldowners.ParseCause(cause.Message)
		if err == nil && cause.Field == "" {
			err = errors.New("it names no field")
		}
		if err != nil {
			return nil, fmt.Errorf("details.causes[%d]: %w", i, err)
		}
		found = append(found, Conflict{ServerPath: cause.Field, Owner: owner})
	}
	return found, nil
}
