package applytest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Call selects calls of a client. Empty fields match all. Fields that no call has together,
// such as the Name of a list, are refused.
type Call struct {
	Verb        Verb   // not VerbWatch or VerbOther, which a client.Client does not have
	Kind        string // for a list: the kind of its items
	Namespace   string
	Name        string
	Subresource string
	DryRun      bool // only dry runs
	Forced      bool // only forced applies
}

func (c Call) matches(made Call) bool {
	return (c.Verb == "" || c.Verb == made.Verb) &&
		(c.Kind == "" || c.Kind == made.Kind) &&
		(c.Namespace == "" || c.Namespace == made.Namespace) &&
		(c.Name == "" || c.Name == made.Name) &&
		(c.Subresource == "" || c.Subresource == made.Subresource) &&
		(!c.DryRun || made.DryRun) && (!c.Forced || made.Forced)
}

// String returns the fields that are not empty.
func (c Call) String() string {
	verb := string(c.Verb)
	if verb == "" {
		verb = "any call"
	}
	if c.Forced {
		verb = "forced " + verb
	}
	if c.DryRun {
		verb = "dry run of " + verb
	}
	object := c.Kind
	if c.Subresource != "" {
		object += "/" + c.Subresource
	}
	name := c.Name
	if c.Namespace != "" {
		name = c.Namespace + "/" + name
	}
	return strings.Join(strings.Fields(verb+" "+object+" "+name), " ")
}

// Always as Fault.Times means each matching call.
const Always = -1

// Fault is an answer and the calls that get the answer.
type Fault struct {
	Call   Call
	Answer Answer
	// Skip is how many matching calls pass before the first that gets the answer, including
	// those that another fault answers.
	Skip int
	// Times is how many calls get the answer: 0 is one, Always is each.
	Times int
}

// meets reports whether the fault is for a call.
func (f Fault) meets(made Call) bool { return f.Call.matches(made) && f.Answer.fits(made) }

func (f Fault) times() int {
	if f.Times == 0 {
		return 1
	}
	return f.Times
}

// String returns the answer and the call.
func (f Fault) String() string {
	text := fmt.Sprintf("%v for %v", f.Answer, f.Call)
	if f.Skip > 0 {
		text += fmt.Sprintf(", after %d", f.Skip)
	}
	return text
}

// validate returns an error for a Call that no call can match.
func (c Call) validate() error {
	reads, many := []Verb{VerbGet, VerbList}, []Verb{VerbList, VerbDeleteCollection}
	switch {
	case c.Verb == "":
		return nil
	case !slices.Contains(callVerbs, c.Verb):
		return fmt.Errorf("Call.Verb: %q is none of %q", c.Verb, callVerbs)
	case c.Forced && c.Verb != VerbApply:
		return fmt.Errorf("Call.Forced: no %s is forced, only an apply", c.Verb)
	case c.DryRun && slices.Contains(reads, c.Verb):
		return fmt.Errorf("Call.DryRun: no %s is a dry run, only a write", c.Verb)
	case c.Name != "" && slices.Contains(many, c.Verb):
		return fmt.Errorf("Call.Name: a %s names no object", c.Verb)
	case c.Subresource != "" && (c.Verb == VerbDelete || slices.Contains(many, c.Verb)):
		return fmt.Errorf("Call.Subresource: there is no %s of one", c.Verb)
	}
	return nil
}

var callVerbs = []Verb{
	VerbGet, VerbList, VerbCreate, VerbUpdate, VerbPatch, VerbApply, VerbDelete, VerbDeleteCollection,
}

func (f Fault) validate() error {
	var errs []error
	if f.Answer.give == nil {
		errs = append(errs, errors.New("Answer: it is empty; use one of the functions that make an Answer"))
	}
	if f.Answer.invalid != nil {
		errs = append(errs, fmt.Errorf("Answer: %w", f.Answer.invalid))
	}
	if err := f.Call.validate(); err != nil {
		errs = append(errs, err)
	} else if f.Call.Verb != "" && !f.Answer.fits(f.Call) || f.Call.Forced && f.Answer.unforced {
		errs = append(errs, fmt.Errorf("Call: no server answers %v to %v, see %v", f.Answer, f.Call, f.Answer))
	}
	if f.Skip < 0 {
		errs = append(errs, fmt.Errorf("Skip: %d is negative", f.Skip))
	}
	if f.Times < Always {
		errs = append(errs, fmt.Errorf("Times: %d is neither a number of calls nor Always", f.Times))
	}
	return errors.Join(errs...)
}
