package applytest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Call names calls of a client. Its empty parts match all.
type Call struct {
	Verb        Verb   // none of VerbWatch and VerbOther, which a client.Client has not
	Kind        string // of a list: that of its items
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

// String gives what is not empty.
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

// Always is for Fault.Times: as often as the call is made.
const Always = -1

// Fault is an answer and the calls that get it instead of the client's own.
type Fault struct {
	Call   Call
	Answer Answer
	// Skip is how many matching calls go by before the first that gets the answer,
	// those counted that another fault answers.
	Skip int
	// Times is how many calls get the answer: 0 is one, Always is each.
	Times int
}

func (f Fault) times() int {
	if f.Times == 0 {
		return 1
	}
	return f.Times
}

// String gives the answer and the call.
func (f Fault) String() string {
	text := fmt.Sprintf("%v for %v", f.Answer, f.Call)
	if f.Skip > 0 {
		text += fmt.Sprintf(", after %d", f.Skip)
	}
	return text
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
	switch verb := f.Call.Verb; {
	case verb != "" && !slices.Contains(callVerbs, verb):
		errs = append(errs, fmt.Errorf("Call.Verb: %q is none of %q", verb, callVerbs))
	case verb != "" && verb != VerbApply && f.Call.Forced:
		errs = append(errs, fmt.Errorf("Call.Forced: no %s is forced, only an apply", verb))
	case verb != "" && !f.Answer.fits(f.Call), f.Call.Forced && f.Answer.unforced:
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

// counted is a fault with what became of it.
type counted struct {
	Fault

	seen  int // matching calls
	given int // of them answered
}

// sees counts a matching call and tells whether it is due the answer.
func (c *counted) sees(made Call) bool {
	if !c.Call.matches(made) || !c.Answer.fits(made) {
		return false
	}
	c.seen++
	return c.seen > c.Skip && (c.Times == Always || c.given < c.times())
}

// unused says what did not happen, or nothing.
func (c *counted) unused() string {
	if c.given > 0 && (c.Times == Always || c.given == c.times()) {
		return ""
	}
	return fmt.Sprintf("%v: given %d times of %s, %d calls matched", c.Fault, c.given, c.wanted(), c.seen)
}

func (c *counted) wanted() string {
	if c.Times == Always {
		return "at least 1"
	}
	return fmt.Sprint(c.times())
}
