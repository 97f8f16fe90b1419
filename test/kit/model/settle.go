package model

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/apply"
)

// Policy is the model's form of an apply.Policy.
type Policy struct {
	Otherwise apply.Decision
	Rules     []Rule
	decide    func(owner Identity, path string) (apply.Decision, bool) // may be nil
}

// Rule is a decision for the conflicts that apply.Match selects.
type Rule struct {
	apply.Match

	Decision apply.Decision
}

func (r Rule) holds(owner Identity, path string) bool {
	return Within(path, r.Path) && (r.Manager == "" || r.Manager == owner.Name) &&
		(r.Operation == "" || string(r.Operation) == owner.Operation)
}

// weaker orders the rules that match one conflict, so that the rule that decides is the last. Each rule's path is a
// prefix of the conflict's path, so the longer text is the longer path.
func weaker(a, b Rule) int {
	named := func(is bool) int { return map[bool]int{true: 1}[is] }
	return cmp.Or(cmp.Compare(len(a.Path), len(b.Path)),
		cmp.Compare(named(a.Manager != ""), named(b.Manager != "")),
		cmp.Compare(named(a.Operation != ""), named(b.Operation != "")))
}

func (p Policy) decision(c Clash) apply.Decision {
	if p.decide != nil {
		if decision, ok := p.decide(c.Owner, c.Path); ok {
			return decision
		}
	}
	best := Rule{Decision: p.Otherwise}
	for _, rule := range p.Rules {
		if rule.holds(c.Owner, c.Path) && weaker(rule, best) >= 0 {
			best = rule
		}
	}
	return best.Decision
}

// decisionOf returns the decision about a clash. If the owner has the applier's own name, Relinquish and Share become
// Reject. A field that the applier itself has applied through a subresource is forced.
func (p Policy) decisionOf(by Identity, c Clash) apply.Decision {
	decision, own := p.decision(c), c.Owner.Name == by.Name
	switch {
	case own && c.Owner.Operation == "Apply" && by.Subresource == "":
		return apply.Force
	case own && (decision == apply.Relinquish || decision == apply.Share):
		return apply.Reject
	}
	return decision
}

// Policy returns the policy in the form of package apply.
func (p Policy) Policy() apply.Policy {
	policy := apply.OnConflict(p.Otherwise)
	for _, rule := range p.Rules {
		if rule.Match == (apply.Match{Path: rule.Path}) {
			policy = policy.At(rule.Path, rule.Decision)
			continue
		}
		policy = policy.When(rule.Match, rule.Decision)
	}
	if p.decide != nil {
		policy = policy.Func(func(c apply.Conflict) (apply.Decision, bool) {
			owner := Identity{c.Manager.Name, string(c.Manager.Operation), c.Manager.Subresource}
			return p.decide(owner, c.Path.String())
		})
	}
	return policy
}

func (p Policy) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "OnConflict(%v)", p.Otherwise)
	for _, rule := range p.Rules {
		fmt.Fprintf(&text, ".When(%q %q %q, %v)", rule.Path, rule.Manager, rule.Operation, rule.Decision)
	}
	if p.decide != nil {
		text.WriteString(".Func(…)")
	}
	return text.String()
}

// EveryDecision are the decisions of a policy.
var EveryDecision = []apply.Decision{apply.Reject, apply.Force, apply.Relinquish, apply.Share}

// anyDecision returns a random decision. It is rarely Reject, because one rejected clash ends the whole step.
func (d Dice) anyDecision() apply.Decision {
	if d.Chance(0.07) {
		return apply.Reject
	}
	return Pick(d, EveryDecision[1:])
}

// Policy returns a random policy, with rules by path, manager and operation, and sometimes a function.
func (d Dice) Policy(s *Shape, managers []string) Policy {
	p := Policy{Otherwise: d.anyDecision()}
	for range 1 + d.IntN(5) {
		rule := Rule{Decision: d.anyDecision()}
		if d.Chance(0.7) {
			rule.Path = Pick(d, slices.Sorted(maps.Keys(d.Config(s, d.Subresource(s)))))
		}
		if d.Chance(0.4) {
			rule.Manager = Pick(d, managers)
		}
		if d.Chance(0.3) {
			rule.Operation = Pick(d, []metav1.ManagedFieldsOperationType{"Apply", "Update"})
		}
		same := func(other Rule) bool { return other.Match == rule.Match }
		if rule.Match != (apply.Match{}) && !slices.ContainsFunc(p.Rules, same) {
			p.Rules = append(p.Rules, rule)
		}
	}
	if d.Chance(0.4) {
		salt, decision := d.Uint32(), d.anyDecision()
		p.decide = func(owner Identity, path string) (apply.Decision, bool) {
			h := fnv.New32a()
			fmt.Fprint(h, owner, path)
			return decision, (h.Sum32()^salt)%5 == 0
		}
	}
	return p
}

// Verdict is what the model expects of one Apply.
type Verdict struct {
	Class   error // one of the sentinel errors of package apply; nil if the intent was applied
	Clashes []Clash
	Settled Tree // the part of the intent that was applied
}

// Settle applies an intent to the model as package apply promises. The policy decides each clash. If one clash is
// rejected, nothing is applied. A relinquished field is left out, a shared field gets the live value, and a forced
// field is taken from its owners. No other field is taken.
func (m *Model) Settle(by Identity, config Tree, policy Policy) Verdict {
	v := Verdict{Clashes: m.Clashes(by, config)}
	decided := map[string]apply.Decision{}
	for i := range v.Clashes {
		c := &v.Clashes[i]
		c.Decision = policy.decisionOf(by, *c)
		before, again := decided[c.Path]
		decided[c.Path] = c.Decision
		if again {
			decided[c.Path] = yielding(before, c.Decision)
		}
		if c.Decision == apply.Reject {
			v.Class = apply.ErrConflict
		}
	}
	if v.Class != nil {
		return v
	}
	settled := maps.Clone(config)
	for path, decision := range decided {
		live, there := m.Live[path]
		switch {
		case decision == apply.Relinquish, decision == apply.Share && !there:
			settled.relinquish(path, func(holder string) bool { return m.soleOwner(by, holder) })
		case decision == apply.Share:
			settled[path] = live
		}
	}
	v.Clashes = slices.DeleteFunc(v.Clashes, func(c Clash) bool { return c.Decision == apply.Force && decided[c.Path] != apply.Force })
	if m.Spoils(by, settled) {
		v.Class = apply.ErrRefused
		return v
	}
	m.Land(by, settled)
	v.Settled = settled
	return v
}

// yielding combines two decisions about owners of the same field. The order of precedence is Reject, Relinquish, Share,
// Force. If the result is Relinquish or Share, the clash with an owner whose decision is Force is not reported.
func yielding(a, b apply.Decision) apply.Decision {
	order := []apply.Decision{apply.Force, apply.Share, apply.Relinquish, apply.Reject}
	return order[max(slices.Index(order, a), slices.Index(order, b))]
}

// soleOwner reports whether the given manager is the only owner of a field.
func (m *Model) soleOwner(by Identity, path string) bool {
	for owner, owns := range m.Owned {
		if owner != by && owns[path] {
			return false
		}
	}
	return m.Owned[by][path]
}

// relinquish removes a field, and each parent that is then empty. A list item is empty if it has only its keys. A
// parent is not removed if keep returns true for it, because the API server would remove it together with other
// managers' fields in it.
func (t Tree) relinquish(path string, keep func(holder string) bool) {
	parent := t[path].parent
	t.cut(path)
	empty := !slices.ContainsFunc(t.children(parent), func(child string) bool { return !t.isKey(child) })
	if parent != "" && empty && !keep(parent) {
		t.relinquish(parent, keep)
	}
}
