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

// Decision is the action for a conflict on one field.
type Decision int

const (
	// Reject applies no field of the intent; Apply returns a ConflictError. Reject is the zero value.
	Reject Decision = iota
	// Force takes the field from its other owner. Apply takes only fields for which the policy
	// decided Force, see Applier.Apply.
	Force
	// Relinquish leaves the field out of the request, with parents that would be empty, and applies
	// the rest. When the other owner no longer owns the field, the next Apply sets the field.
	Relinquish
	// Share sends the live value, so that both managers own the field. If the other owner later
	// applies another value, its apply has an ownership conflict. If the other owner updates the
	// value, the other owner takes the field. When the other owner no longer owns the field, the next
	// Apply sets the intent's value.
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

// Match selects the conflicts that a rule of a Policy decides. An empty field matches everything.
// At least one field must be set.
type Match struct {
	// Path is a field, with everything below it, in the notation of fieldowners.ParsePath. A list item
	// is identified by all of its keys, such as [containerPort=80,protocol="TCP"]. A path with fewer
	// keys matches nothing.
	Path string
	// Manager is the name of the other owner.
	Manager string
	// Operation is how the other owner wrote the field: Apply or Update.
	Operation metav1.ManagedFieldsOperationType
}

// Policy decides conflicts field by field. The zero value rejects every conflict. A Policy is
// immutable: its methods return a new Policy. See also Conflict.Own.
//
// If a field has several other owners, the Policy decides on each of them. If one decision is Reject,
// the intent is rejected. Otherwise, if one decision is Relinquish, the field is relinquished; if one
// is Share, it is shared; and if all are Force, it is forced. For a relinquished or shared field, the
// Outcome lists only the conflicts with the owners for which the policy decided so.
type Policy struct {
	otherwise Decision
	rules     []rule
	ask       func(Conflict) (Decision, bool)
	refuses   func(Conflict) error
	err       error // the mistakes in the policy, which New returns
}

type rule struct {
	Match

	path     fieldowners.Path
	decision Decision
}

// OnConflict returns a policy with the same decision for every conflict.
func OnConflict(decision Decision) Policy {
	return Policy{otherwise: decision, err: validDecision(decision, rule{})}
}

// At returns a copy of the policy with a rule for a field and everything below it, for every other
// owner. At is When with a path alone.
func (p Policy) At(path string, decision Decision) Policy {
	return p.When(Match{Path: path}, decision)
}

// Never returns the policy that rejects every conflict over a field, even if its Func decides
// otherwise. If the policy has a rule for the same field, New returns an error. Call Never last: a
// later Func, or a later rule for a manager, takes precedence.
func (p Policy) Never(path string) Policy {
	parsed, err := fieldowners.ParsePath(path)
	p.err = errors.Join(p.err, err)
	if slices.ContainsFunc(p.rules, func(r rule) bool { return r.path.Equal(parsed) }) {
		p.err = errors.Join(p.err, fmt.Errorf("policy: there is a rule for %s, but every conflict over this field is rejected, whatever the rule says; remove the rule", path))
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

// When returns a copy of the policy with a rule: conflicts that match get the decision. If several
// rules match a conflict, the rule with the longest path decides. Among rules with equal paths, a
// rule with a manager comes first, and then a rule with an operation. New returns an error for an
// empty match, a repeated match, a path that does not parse, and an unknown operation or decision.
func (p Policy) When(match Match, decision Decision) Policy {
	path, err := fieldowners.ParsePath(match.Path)
	r := rule{match, path, decision}
	p.err = errors.Join(p.err, err, p.refuse(r), validDecision(decision, r))
	p.rules = append(slices.Clone(p.rules), r)
	return p
}

// Func returns the policy that calls decide first, for every conflict. If decide returns false, the
// rules decide. The result of decide must depend on the conflict alone, because decide is called
// more than once for the same conflict. If the Path of a Conflict is the root, no field matched
// (see Conflict.ServerPath), and the conflict can only be rejected or forced. The values of Secrets
// are not in the Conflict. An unknown decision makes Apply fail with a RefusedError.
func (p Policy) Func(decide func(Conflict) (Decision, bool)) Policy {
	switch {
	case decide == nil:
		p.err = errors.Join(p.err, errors.New("policy: Func(nil): a function is needed"))
	case p.ask != nil:
		p.err = errors.Join(p.err, errors.New("policy: Func is given twice, and a policy has one Func; combine the two functions"))
	}
	p.ask = decide
	return p
}

// ForceUnless returns the policy that calls refuses before a field is forced, whether a rule or
// Func decided so. If refuses returns an error, the conflict is rejected instead, and the error
// becomes Conflict.Refused. refuses is not called for other decisions.
//
// refuses is called each time that a conflict is decided, several times in one Apply. Unlike the
// function of Func, refuses may return different results for the same conflict, for example by how
// often the other owner took the field back. If refuses returns an error for one field, no field of
// the intent is applied. If refuses returns nil, the field may still not be forced. refuses must be
// safe for concurrent use. The values of Secrets are not in the Conflict.
func (p Policy) ForceUnless(refuses func(Conflict) error) Policy {
	switch {
	case refuses == nil:
		p.err = errors.Join(p.err, errors.New("policy: ForceUnless(nil): a function is needed"))
	case p.refuses != nil:
		p.err = errors.Join(p.err, errors.New("policy: ForceUnless is given twice, and a policy has one such function; combine the two functions"))
	}
	p.refuses = refuses
	return p
}

func (p Policy) refuse(r rule) error {
	switch {
	case r.Match == Match{}:
		return errors.New("policy: a rule has an empty path or Match; give the decision for all conflicts to OnConflict")
	case slices.ContainsFunc(r.path.Elements(), func(e fieldowners.Element) bool { return e.Index }):
		return fmt.Errorf("policy: %s identifies a list item by its index, but field ownership is never recorded by index: "+
			"identify the item by its keys, as [name=\"web\"], or use the path of the list", r)
	case r.Operation != "" && r.Operation != metav1.ManagedFieldsOperationApply && r.Operation != metav1.ManagedFieldsOperationUpdate:
		return fmt.Errorf("policy: unknown operation %q, want Apply or Update", r.Operation)
	case slices.ContainsFunc(p.rules, r.sameMatch):
		return fmt.Errorf("policy: the rule for %s is given twice; remove one of the two", r)
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

// String returns the Match of the rule as one short text for messages.
func (r rule) String() string {
	text := cmp.Or(r.path.String(), "every field")
	if r.Manager != "" || r.Operation != "" {
		text += fmt.Sprintf(" of %s/%s", cmp.Or(r.Manager, "*"), cmp.Or(string(r.Operation), "*"))
	}
	return text
}

// heldBy reports whether the rule is for conflicts with this other owner.
func (r rule) heldBy(other fieldowners.Manager) bool {
	return (r.Manager == "" || r.Manager == other.Name) && (r.Operation == "" || r.Operation == other.Operation)
}

// compare returns a positive number if the rule is more specific than the other rule.
func (r rule) compare(other rule) int {
	named := func(s string) int { return min(len(s), 1) }
	return cmp.Or(
		cmp.Compare(r.path.Len(), other.path.Len()),
		cmp.Compare(named(r.Manager), named(other.Manager)),
		cmp.Compare(named(string(r.Operation)), named(string(other.Operation))),
	)
}

// decide returns the decision of Func or of the rules, without calling the function of ForceUnless.
// The decision is not checked: Func may return an unknown decision.
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

// byRules returns the decision of the most specific rule that matches a conflict.
func (p Policy) byRules(conflict Conflict) Decision {
	decision, closest := p.otherwise, rule{}
	for _, r := range p.rules {
		if r.heldBy(conflict.Manager) && conflict.Path.HasPrefix(r.path) && r.compare(closest) > 0 {
			decision, closest = r.decision, r
		}
	}
	return decision
}

// settleable returns Reject if the field of a conflict is unknown and the decision is Relinquish or
// Share: an unknown field can neither be left out nor get the live value.
func settleable(decision Decision, conflict Conflict) Decision {
	if conflict.Path.IsRoot() && decision.valid() && decision != Force {
		return Reject
	}
	return decision
}

// decideByServerPath decides a conflict whose field is not known, only the API server's ambiguous
// name of the field. It returns Reject unless all rules that may match have the same decision.
func (p Policy) decideByServerPath(conflict Conflict) Decision {
	decision := p.byRules(conflict) // of the rules without a path, as the conflict's path is the root
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

// CheckPaths returns an error for each rule whose path exists in none of the given Go types of
// objects or of apply configurations, such as reflect.TypeFor[appsv1.Deployment]().
func (p Policy) CheckPaths(kinds ...reflect.Type) error {
	var errs []error
	for _, r := range p.rules {
		switch err := gotypes.HasPath(r.path, kinds); {
		case err != nil && len(kinds) == 1:
			errs = append(errs, fmt.Errorf("policy: the field %s does not exist: %w", r.path, err))
		case err != nil:
			errs = append(errs, fmt.Errorf("policy: none of %d kinds has the field %s", len(kinds), r.path))
		}
	}
	return errors.Join(errs...)
}
