package apply

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/apply/internal/gotypes"
	"coapply.dev/fieldowners"
)

// Decision says what to do about a conflict on one field.
type Decision int

const (
	// Reject applies no field of the intent; Apply returns a ConflictError. Reject is the zero
	// value.
	Reject Decision = iota
	// Force takes the field from its other owner. It takes the fields that were
	// judged and no others, see Applier.Apply.
	Force
	// Relinquish leaves the field out of the request, with parents that would be empty, and
	// applies the rest. When the other owner no longer owns the field, the next Apply sets the
	// field.
	Relinquish
	// Share sends the live value, and owns the field together with the other owner. If the
	// other owner later applies another value, it gets an ownership conflict. If it updates the
	// value, it takes the field. When the other owner no longer owns the field, the next Apply
	// sets the value of the intent.
	Share
)

func (d Decision) String() string {
	switch d {
	case Reject:
		return "Reject"
	case Force:
		return "Force"
	case Relinquish:
		return "Relinquish"
	case Share:
		return "Share"
	}
	return fmt.Sprintf("Decision(%d)", int(d))
}

// Match selects the conflicts of a rule. A field that is empty matches everything. At least one
// field must be set.
type Match struct {
	// Path is a field, with everything below it, in the notation of fieldowners.ParsePath. An
	// item of a list is named by all of its keys, such as [containerPort=80,protocol="TCP"]: a
	// path with fewer keys matches nothing.
	Path string
	// Manager is the name of the other owner.
	Manager string
	// Operation is how the other owner wrote the field: Apply or Update.
	Operation metav1.ManagedFieldsOperationType
}

// Policy decides conflicts field by field. The zero value rejects every one. A Policy is
// immutable: its methods return a new one. For conflicts with the applier's own field manager
// see Conflict.Own.
//
// A field may have several other owners, each with its own decision. One Reject rejects the
// intent. Otherwise one Relinquish relinquishes the field, one Share shares it, and it is
// forced if all decisions are Force. For a relinquished or shared field, the Outcome lists only the
// conflicts with the owners for which the policy decided so.
type Policy struct {
	otherwise Decision
	rules     []rule
	ask       func(Conflict) (Decision, bool)
	refuses   func(Conflict) error
	err       error // of building the policy; New returns it
}

type rule struct {
	Match

	path     fieldowners.Path
	decision Decision
}

// OnConflict returns the policy that decides every conflict alike.
func OnConflict(decision Decision) Policy {
	return Policy{otherwise: decision, err: validDecision(decision, rule{})}
}

// At returns the policy with another decision for a field and everything below it, whoever owns
// it: When with a path alone.
func (p Policy) At(path string, decision Decision) Policy {
	return p.When(Match{Path: path}, decision)
}

// Never returns the policy that rejects every conflict over a field, even where the Func that
// it has would decide otherwise. If it has a rule for the same field, New returns an error.
// Call Never last: a later Func or a rule for a manager would win.
func (p Policy) Never(path string) Policy {
	parsed, err := fieldowners.ParsePath(path)
	p.err = errors.Join(p.err, err)
	if slices.ContainsFunc(p.rules, func(r rule) bool { return r.path.Equal(parsed) }) {
		p.err = errors.Join(p.err, fmt.Errorf("policy: a rule for %s, which is not for a policy to decide; leave it out", path))
		return p
	}
	if ask := p.ask; ask != nil {
		p.ask = func(c Conflict) (Decision, bool) {
			if c.ServerPath == parsed.ServerString() {
				return Reject, true
			}
			return ask(c)
		}
	}
	return p.At(path, Reject)
}

// When returns the policy with another decision for the conflicts that match. Of several rules
// that match a conflict the one with the longest path decides; of these one that names the
// manager, and then one that names the operation. New returns an error for an empty match, one
// given twice, a path that does not parse, and an unknown operation or decision.
func (p Policy) When(match Match, decision Decision) Policy {
	path, err := fieldowners.ParsePath(match.Path)
	r := rule{match, path, decision}
	p.err = errors.Join(p.err, err, p.refuse(r), validDecision(decision, r))
	p.rules = append(slices.Clone(p.rules), r)
	return p
}

// Func returns the policy that calls decide first, for every conflict; if decide returns false,
// the rules decide. Its answer must depend on the conflict alone, as it is called more than
// once for the same one. A Conflict whose Path is the root could not be matched to a field (see
// Conflict.ServerPath) and can only be rejected or forced. The values of Secrets are not in the
// Conflict. An unknown decision makes Apply fail with a RefusedError.
func (p Policy) Func(decide func(Conflict) (Decision, bool)) Policy {
	switch {
	case decide == nil:
		p.err = errors.Join(p.err, errors.New("policy: Func(nil): a function is needed"))
	case p.ask != nil:
		p.err = errors.Join(p.err, errors.New("policy: Func is given twice; one function decides"))
	}
	p.ask = decide
	return p
}

// ForceUnless returns the policy that calls refuses before a field is forced, whether a rule or
// Func decided so: if refuses returns an error, the conflict is rejected instead, with that as
// its reason. It is not called for other decisions.
//
// refuses is called each time that a conflict is judged, several times in one Apply. Unlike that
// of Func its answer may depend on more than the conflict, such as how often the field was taken
// back, and may differ each time. After one error nothing of the intent lands; nil does not mean
// that the force follows. refuses must be safe for concurrent use. The values of Secrets are not
// in the Conflict.
func (p Policy) ForceUnless(refuses func(Conflict) error) Policy {
	switch {
	case refuses == nil:
		p.err = errors.Join(p.err, errors.New("policy: ForceUnless(nil): a function is needed"))
	case p.refuses != nil:
		p.err = errors.Join(p.err, errors.New("policy: ForceUnless is given twice; one function is asked"))
	}
	p.refuses = refuses
	return p
}

func (p Policy) refuse(r rule) error {
	switch {
	case r.Match == Match{}:
		return errors.New("policy: an empty path or match; give the decision for every conflict to OnConflict")
	case slices.ContainsFunc(r.path.Elements(), func(e fieldowners.Element) bool { return e.Index }):
		return fmt.Errorf("policy: %s names an item by its index; nobody owns one: name it by its keys, as [name=\"web\"], or name the list", r)
	case r.Operation != "" && r.Operation != metav1.ManagedFieldsOperationApply && r.Operation != metav1.ManagedFieldsOperationUpdate:
		return fmt.Errorf("policy: unknown operation %q, want Apply or Update", r.Operation)
	case slices.ContainsFunc(p.rules, r.sameMatch):
		return fmt.Errorf("policy: %s is given twice", r)
	}
	return nil
}

func (d Decision) valid() bool { return d >= Reject && d <= Share }

func validDecision(d Decision, of fmt.Stringer) error {
	if !d.valid() {
		return fmt.Errorf("policy: unknown decision %d for %v", int(d), of)
	}
	return nil
}

func (r rule) sameMatch(other rule) bool {
	return r.path.Equal(other.path) && r.Manager == other.Manager && r.Operation == other.Operation
}

// String returns the match as messages name it.
func (r rule) String() string {
	text := cmp.Or(r.path.String(), "every field")
	if r.Manager != "" || r.Operation != "" {
		text += fmt.Sprintf(" of %s/%s", cmp.Or(r.Manager, "*"), cmp.Or(string(r.Operation), "*"))
	}
	return text
}

// heldBy reports whether the rule matches the conflict's other owner.
func (r rule) heldBy(other fieldowners.Manager) bool {
	return (r.Manager == "" || r.Manager == other.Name) && (r.Operation == "" || r.Operation == other.Operation)
}

// compare orders rules by how specific they are.
func (r rule) compare(other rule) int {
	named := func(s string) int { return min(len(s), 1) }
	return cmp.Or(
		cmp.Compare(r.path.Len(), other.path.Len()),
		cmp.Compare(named(r.Manager), named(other.Manager)),
		cmp.Compare(named(string(r.Operation)), named(string(other.Operation))),
	)
}

// decide returns the decision on one conflict. If Func made it, it may be invalid. ForceUnless
// is not asked.
func (p Policy) decide(conflict Conflict) Decision {
	decision, decided := Reject, false
	if p.ask != nil {
		decision, decided = p.ask(conflict)
	}
	switch {
	case decided:
	case conflict.Path.IsRoot():
		decision = p.decideByServerPath(conflict)
	default:
		decision = p.byRules(conflict)
	}
	return settleable(decision, conflict)
}

// byRules returns the decision of the most specific rule.
func (p Policy) byRules(conflict Conflict) Decision {
	decision, closest := p.otherwise, rule{}
	for _, r := range p.rules {
		if r.heldBy(conflict.Manager) && conflict.Path.HasPrefix(r.path) && r.compare(closest) > 0 {
			decision, closest = r.decision, r
		}
	}
	return decision
}

// settleable returns Reject for a decision that cannot be carried out: an unknown field cannot
// be left out, nor its value be adopted.
func settleable(decision Decision, conflict Conflict) Decision {
	if conflict.Path.IsRoot() && decision.valid() && decision != Force {
		return Reject
	}
	return decision
}

// decideByServerPath decides a conflict of which only the server's ambiguous string is known:
// unless all rules that may match agree, it is rejected.
func (p Policy) decideByServerPath(conflict Conflict) Decision {
	decision := p.byRules(conflict) // its path is the root: only rules without a path
	for _, r := range p.rules {
		mayHold := r.heldBy(conflict.Manager) && mayLieBelow(conflict.ServerPath, r.path.ServerString())
		if mayHold && !r.path.IsRoot() && r.decision != decision {
			return Reject
		}
	}
	return decision
}

func mayLieBelow(serverPath, prefix string) bool {
	if len(serverPath) < len(prefix) || serverPath[:len(prefix)] != prefix {
		return false
	}
	rest := serverPath[len(prefix):]
	return rest == "" || rest[0] == '.' || rest[0] == '['
}

// mayGiveWay reports whether the policy may relinquish or share a field.
func (p Policy) mayGiveWay() bool {
	gives := func(d Decision) bool { return d == Relinquish || d == Share }
	return p.ask != nil || gives(p.otherwise) || slices.ContainsFunc(p.rules, func(r rule) bool { return gives(r.decision) })
}

// CheckPaths returns an error for each rule whose path exists in none of the given types, which
// are Go types of objects or of apply configurations, such as
// reflect.TypeFor[appsv1.Deployment]().
func (p Policy) CheckPaths(kinds ...reflect.Type) error {
	var errs []error
	for _, r := range p.rules {
		switch err := gotypes.HasPath(r.path, kinds); {
		case err != nil && len(kinds) == 1:
			errs = append(errs, fmt.Errorf("policy: %s cannot exist: %w", r.path, err))
		case err != nil:
			errs = append(errs, fmt.Errorf("policy: none of %d kinds has the field %s", len(kinds), r.path))
		}
	}
	return errors.Join(errs...)
}
