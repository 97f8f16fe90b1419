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

// Decision says how Apply settles a conflict. In a conflict, another field manager owns a field of the intent with
// another value.
type Decision int

const (
	// Reject fails the Apply with a ConflictError, and applies no field of the intent. Reject is the zero value.
	Reject Decision = iota
	// Force sets the field to the intent's value, and takes the field from its other owner. Apply takes no other fields
	// from that owner.
	Force
	// Relinquish leaves the field to its other owner: the request omits the field, and each parent that would be empty
	// without the field. When the other owner no longer owns the field, the next Apply sets the field.
	Relinquish
	// Share applies the field with the live value instead of the intent's, so that both managers own the field. If the
	// other owner later applies another value, the other owner gets an ownership conflict. If it updates the value,
	// this manager loses the field. When the other owner no longer owns the field, the next Apply sets the intent's
	// value.
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

// Match selects the conflicts for which a rule of a Policy decides. An empty field of Match selects all conflicts, and
// at least one field must be set.
type Match struct {
	// Path selects the conflicts on a field and on everything below it. Its notation is that of fieldowners.ParsePath.
	// A list item is named by all of its keys, such as [containerPort=80,protocol="TCP"]: a path with fewer keys
	// matches nothing.
	Path string
	// Manager selects the conflicts with an owner of this name.
	Manager string
	// Operation selects the conflicts with an owner that wrote the field by this operation: Apply or Update.
	Operation metav1.ManagedFieldsOperationType
}

// Policy decides, field by field, what Apply does about conflicts. The zero value rejects every conflict. A Policy is
// immutable: its methods return a changed copy. See also Conflict.Own.
//
// If a field has several other owners, the Policy decides on the conflict with each of them. If one decision is Reject,
// the intent is rejected. Otherwise the field is relinquished if one decision is Relinquish, or else shared if one is
// Share. The field is forced only if all decisions are Force. For a relinquished or shared field, the Outcome lists
// only the conflicts with that decision.
type Policy struct {
	otherwise Decision
	rules     []rule
	ask       func(Conflict) (Decision, bool)
	refuses   func(Conflict) error
	err       error // the mistakes in the policy; apply.New returns them
}

type rule struct {
	Match

	path     fieldowners.Path
	decision Decision
}

// OnConflict returns a policy with the same decision for every conflict. Add exceptions with At, When, Func and
// ForceUnless.
func OnConflict(decision Decision) Policy {
	return Policy{otherwise: decision, err: validDecision(decision, rule{})}
}

// At returns a copy of the policy with a rule for all conflicts on a field and everything below the field. It is the
// same as When(Match{Path: path}, decision).
func (p Policy) At(path string, decision Decision) Policy {
	return p.When(Match{Path: path}, decision)
}

// Never returns a copy of the policy that rejects every conflict on a field, even if the policy's Func decides
// otherwise. If the policy already has a rule for this path, apply.New returns an error. Call Never after the other
// methods: a later Func takes precedence over Never, and so does a later rule for the same path with a manager.
func (p Policy) Never(path string) Policy {
	parsed, err := fieldowners.ParsePath(path)
	p.err = errors.Join(p.err, err)
	if slices.ContainsFunc(p.rules, func(r rule) bool { return r.path.Equal(parsed) }) {
		p.err = errors.Join(p.err, fmt.Errorf("policy: every conflict on %s is rejected (Never), but there is also a rule for this field; remove the rule", path))
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

// When returns a copy of the policy with a rule: conflicts that match get the given decision. If several rules match a
// conflict, the rule with the longest path decides. Among rules with the same path, rules with a manager precede rules
// without a manager. Among these, rules with an operation precede rules without an operation. apply.New returns an
// error if the decision is unknown, or if the match is empty, invalid or already in the policy.
func (p Policy) When(match Match, decision Decision) Policy {
	path, err := fieldowners.ParsePath(match.Path)
	r := rule{match, path, decision}
	p.err = errors.Join(p.err, err, p.refuse(r), validDecision(decision, r))
	p.rules = append(slices.Clone(p.rules), r)
	return p
}

// Func returns a copy of the policy that calls the given function for every conflict, before its rules. If the function
// returns false, the rules decide. The function may be called several times for the same conflict, so its result must
// depend on the Conflict alone. If Conflict.Path is the root, the field is not known (see Conflict.ServerPath), and the
// conflict can only be rejected or forced. The Conflict contains no values of Secrets. If the function returns an
// unknown Decision, Apply fails with a RefusedError.
func (p Policy) Func(decide func(Conflict) (Decision, bool)) Policy {
	switch {
	case decide == nil:
		p.err = errors.Join(p.err, errors.New("policy: Func(nil): a function is needed"))
	case p.ask != nil:
		p.err = errors.Join(p.err, errors.New("policy: Func was called twice, but a policy can have only one Func; combine the two functions"))
	}
	p.ask = decide
	return p
}

// ForceUnless returns a copy of the policy that calls the given function for each conflict that a rule or Func decides
// to force. If the function returns an error, the conflict is rejected, no field of the intent is applied, and the
// error becomes Conflict.Refused. The function is not called for other decisions.
//
// One Apply may call the function several times for the same conflict. The function must be safe for concurrent use.
// Unlike the function of Func, it may return different results, for example an error after the other owner has taken
// the field back several times. Even if the function returns nil, the field is not forced if another conflict is
// rejected. The Conflict contains no values of Secrets.
func (p Policy) ForceUnless(refuses func(Conflict) error) Policy {
	switch {
	case refuses == nil:
		p.err = errors.Join(p.err, errors.New("policy: ForceUnless(nil): a function is needed"))
	case p.refuses != nil:
		p.err = errors.Join(p.err, errors.New("policy: ForceUnless was called twice, but a policy can have only one such function; combine the two functions"))
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
		return fmt.Errorf("policy: unknown decision %d for %v, want Reject, Force, Relinquish or Share", int(d), of)
	}
	return nil
}

func (r rule) sameMatch(other rule) bool {
	return r.path.Equal(other.path) && r.Manager == other.Manager && r.Operation == other.Operation
}

// String returns the field and the owner that the rule matches, such as ".spec.replicas of hpa/*".
func (r rule) String() string {
	text := cmp.Or(r.path.String(), "every field")
	if r.Manager != "" || r.Operation != "" {
		text += fmt.Sprintf(" of %s/%s", cmp.Or(r.Manager, "*"), cmp.Or(string(r.Operation), "*"))
	}
	return text
}

// heldBy reports whether the manager and operation of the rule match the other owner of a conflict.
func (r rule) heldBy(other fieldowners.Manager) bool {
	return (r.Manager == "" || r.Manager == other.Name) && (r.Operation == "" || r.Operation == other.Operation)
}

// compare returns a positive number if r is more specific than other, and 0 if both are equally specific.
func (r rule) compare(other rule) int {
	named := func(s string) int { return min(len(s), 1) }
	return cmp.Or(
		cmp.Compare(r.path.Len(), other.path.Len()),
		cmp.Compare(named(r.Manager), named(other.Manager)),
		cmp.Compare(named(string(r.Operation)), named(string(other.Operation))),
	)
}

// decide returns the decision of Func or of the rules for a conflict. It does not call the function of ForceUnless. If
// Func returns an unknown decision, decide also returns this decision.
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

// byRules returns the decision of the most specific rule that matches a conflict, or else the decision of OnConflict.
func (p Policy) byRules(conflict Conflict) Decision {
	decision, closest := p.otherwise, rule{}
	for _, r := range p.rules {
		if r.heldBy(conflict.Manager) && conflict.Path.HasPrefix(r.path) && r.compare(closest) > 0 {
			decision, closest = r.decision, r
		}
	}
	return decision
}

// settleable replaces Relinquish and Share by Reject if the field of the conflict is not known. Such a field can
// neither be left out nor be sent with the live value.
func settleable(decision Decision, conflict Conflict) Decision {
	if conflict.Path.IsRoot() && decision.valid() && decision != Force {
		return Reject
	}
	return decision
}

// decideByServerPath decides a conflict if the field is known only by the API server's ambiguous name. If the rules
// that may match have different decisions, it returns Reject.
func (p Policy) decideByServerPath(conflict Conflict) Decision {
	decision := p.byRules(conflict) // only rules without a path match, because the conflict's path is the root
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

// mayGiveWay reports whether the policy may decide to relinquish or share a field.
func (p Policy) mayGiveWay() bool {
	gives := func(d Decision) bool { return d == Relinquish || d == Share }
	return p.ask != nil || gives(p.otherwise) || slices.ContainsFunc(p.rules, func(r rule) bool { return gives(r.decision) })
}

// CheckPaths returns an error for each rule with a path that no Go type in kinds has. kinds are Go types of objects or
// of apply configurations, such as reflect.TypeFor[appsv1.Deployment]().
func (p Policy) CheckPaths(kinds ...reflect.Type) error {
	var errs []error
	for _, r := range p.rules {
		switch err := gotypes.HasPath(r.path, kinds); {
		case err != nil && len(kinds) == 1:
			errs = append(errs, fmt.Errorf("policy: the field %s does not exist: %w", r.path, err))
		case err != nil:
			errs = append(errs, fmt.Errorf("policy: none of the %d kinds has the field %s", len(kinds), r.path))
		}
	}
	return errors.Join(errs...)
}
