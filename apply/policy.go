package apply

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"coapply.dev/fieldowners"
)

// Decision says what to do about a conflict on one field.
type Decision int

const (
	// Reject lets nothing of the intent land; Apply returns a ConflictError. It is
	// the zero value.
	Reject Decision = iota
	// Force takes the field from its other owner. It takes the fields that were
	// judged and no others, see Applier.Apply.
	Force
	// Relinquish stops wanting the field: it is left out of what is sent, with
	// parents that are empty without it, and the rest lands. When the other owner
	// lets go, the next Apply takes the field.
	Relinquish
	// Share adopts the live value and owns the field together with its other owner.
	// The other one's next change of it is an ownership conflict for them if they
	// apply, and takes the field from us if they update. When the other owner lets
	// go, the next Apply sets our value.
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

// Match says which conflicts a rule of a policy holds for. Parts left empty hold
// for all; at least one is needed.
type Match struct {
	// Path is a field, with everything below it, in the notation of
	// fieldowners.ParsePath. An item of a list is named by all of its keys, such as
	// [containerPort=80,protocol="TCP"]: a path with fewer of them holds for none.
	Path string
	// Manager is the name of the other owner.
	Manager string
	// Operation is how the other owner wrote the field: Apply or Update.
	Operation metav1.ManagedFieldsOperationType
}

// Policy decides conflicts field by field. The zero value rejects every one. A
// Policy is immutable: its methods give a new one. Where the other owner is the
// applier's own field manager, see Conflict.Own.
//
// A field may have several other owners. If one of them is rejected, so is the
// intent; else it is relinquished if that is the decision for one of them, else
// shared, and forced if that is the decision for all. An owner to be forced is not
// among the conflicts of an Outcome when the field gave way to another one.
type Policy struct {
	otherwise Decision
	rules     []rule
	ask       func(Conflict) (Decision, bool)
	mayForce  func(Conflict) bool
	kinds     []runtime.ApplyConfiguration
	err       error // of building it; New reports it
}

type rule struct {
	Match

	path     fieldowners.Path
	decision Decision
}

// OnConflict is the policy that decides every conflict alike.
func OnConflict(decision Decision) Policy {
	return Policy{otherwise: decision, err: validDecision(decision, rule{})}
}

// At decides otherwise for a field and everything below it, whoever owns it. It is
// When with nothing but a path.
func (p Policy) At(path string, decision Decision) Policy {
	return p.When(Match{Path: path}, decision)
}

// Never rejects every conflict over a field, whatever Func and the rules say: it is not for
// the policy to decide. A rule for the same field is an error that New reports.
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

// When decides otherwise for the conflicts that match. Of several rules that hold
// for a conflict the one with the longest path decides; of these one that names
// the manager, and then one that names the operation. An empty match, one given
// twice, a path that does not parse and an unknown operation are errors that New
// reports.
func (p Policy) When(match Match, decision Decision) Policy {
	path, err := fieldowners.ParsePath(match.Path)
	r := rule{match, path, decision}
	p.err = errors.Join(p.err, err, p.refuse(r), validDecision(decision, r))
	p.rules = append(slices.Clone(p.rules), r)
	return p
}

// Func asks decide first, for every conflict; where it gives false the rules
// decide. It must depend on nothing but the conflict: it is called more than once
// for the same one. A Conflict whose Path is the root could not be matched to a
// field (see Conflict.ServerPath) and can only be rejected or forced. Values of
// Secrets are hidden from it. A decision that there is not makes Apply fail with a
// RefusedError. Where it decides, nothing is told in Outcome.Shared: without a conflict it
// is not asked.
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

// ForceIf asks may before a field is forced, whoever decided that it is to be, a
// rule or Func: where it gives false the conflict is rejected instead. Decisions but
// Force are none of its business.
//
// It is asked for each look at a conflict, several times in one Apply, and last for
// the answer that a force is pinned to. Unlike Func it may answer by more than the
// conflict, such as by how often the field was taken back, and differently each
// time: every answer holds for the look it was asked for. One false is enough for
// nothing of the intent to land, and a true promises no force. It must be safe for
// concurrent use. Values of Secrets are hidden from it.
func (p Policy) ForceIf(may func(Conflict) bool) Policy {
	switch {
	case may == nil:
		p.err = errors.Join(p.err, errors.New("policy: ForceIf(nil): a function is needed"))
	case p.mayForce != nil:
		p.err = errors.Join(p.err, errors.New("policy: ForceIf is given twice; one function is asked"))
	}
	p.mayForce = may
	return p
}

// For says what kinds the policy is for, by their typed apply configurations, such
// as appsv1ac.Deployment("", ""): New then refuses a path that none of them has.
func (p Policy) For(kinds ...runtime.ApplyConfiguration) Policy {
	p.kinds = append(slices.Clone(p.kinds), kinds...)
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

// validate reports what is wrong with the policy.
func (p Policy) validate() error {
	if p.err != nil || len(p.kinds) == 0 {
		return p.err
	}
	return checkPaths(p.rules, p.kinds)
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

// String gives the match as messages name it.
func (r rule) String() string {
	text := cmp.Or(r.path.String(), "every field")
	if r.Manager != "" || r.Operation != "" {
		text += fmt.Sprintf(" of %s/%s", cmp.Or(r.Manager, "*"), cmp.Or(string(r.Operation), "*"))
	}
	return text
}

// heldBy tells whether the rule is about the conflict's other owner.
func (r rule) heldBy(other fieldowners.Manager) bool {
	return (r.Manager == "" || r.Manager == other.Name) && (r.Operation == "" || r.Operation == other.Operation)
}

// compare orders rules by how closely they look.
func (r rule) compare(other rule) int {
	named := func(s string) int { return min(len(s), 1) }
	return cmp.Or(
		cmp.Compare(r.path.Len(), other.path.Len()),
		cmp.Compare(named(r.Manager), named(other.Manager)),
		cmp.Compare(named(string(r.Operation)), named(string(other.Operation))),
	)
}

// decide settles one conflict. What a function gives may be no decision at all.
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
	decision = settleable(decision, conflict)
	if decision == Force && p.mayForce != nil && !p.mayForce(conflict) {
		return Reject
	}
	return decision
}

// Forces reports whether the policy decides to force a field, ForceIf aside: that may
// answer differently each time.
func (p Policy) Forces(conflict Conflict) bool {
	p.mayForce = nil
	return p.decide(conflict) == Force
}

// byRules has the closest rule decide.
func (p Policy) byRules(conflict Conflict) Decision {
	decision, closest := p.otherwise, rule{}
	for _, r := range p.rules {
		if r.heldBy(conflict.Manager) && conflict.Path.HasPrefix(r.path) && r.compare(closest) > 0 {
			decision, closest = r.decision, r
		}
	}
	return decision
}

// settleable rejects what cannot be done: a field that is not known cannot be left
// out, nor its value be adopted.
func settleable(decision Decision, conflict Conflict) Decision {
	if conflict.Path.IsRoot() && decision.valid() && decision != Force {
		return Reject
	}
	return decision
}

// decideByServerPath settles a conflict of which only the server's ambiguous
// string is known: the rules that may hold have to agree, or it is rejected.
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

// dependsOnOwner tells whether another owner of the same field may lead to another
// decision.
func (p Policy) dependsOnOwner() bool {
	return p.ask != nil || p.mayForce != nil || slices.ContainsFunc(p.rules, func(r rule) bool { return r.Manager != "" || r.Operation != "" })
}
