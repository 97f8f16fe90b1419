package apply

import (
	"errors"
	"fmt"
	"slices"

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
)

func (d Decision) String() string {
	switch d {
	case Reject:
		return "Reject"
	case Force:
		return "Force"
	}
	return fmt.Sprintf("Decision(%d)", int(d))
}

// Policy decides conflicts field by field. The zero value rejects every one. A
// Policy is immutable: At gives a new one.
type Policy struct {
	otherwise Decision
	rules     []rule
	err       error // of building it; New reports it
}

type rule struct {
	path     fieldowners.Path
	decision Decision
}

// OnConflict is the policy that decides every conflict alike.
func OnConflict(decision Decision) Policy {
	p := Policy{otherwise: decision}
	p.err = validDecision(decision)
	return p
}

// At decides otherwise for a field and everything below it. Of several paths that
// hold for a field the longest decides. The path is in the notation of
// fieldowners.ParsePath; one that does not parse, an empty one and one given twice
// are errors that New reports. An item of a list is named by all of its keys, such
// as [containerPort=80,protocol="TCP"]: a path with fewer of them holds for none.
func (p Policy) At(path string, decision Decision) Policy {
	parsed, err := fieldowners.ParsePath(path)
	switch {
	case err != nil:
	case parsed.IsRoot():
		err = errors.New("policy: an empty path; give the decision for every field to OnConflict")
	case slices.ContainsFunc(p.rules, func(r rule) bool { return r.path.Equal(parsed) }):
		err = fmt.Errorf("policy: %s is given twice", parsed)
	default:
		err = validDecision(decision)
	}
	p.err = errors.Join(p.err, err)
	p.rules = append(slices.Clone(p.rules), rule{parsed, decision})
	return p
}

func validDecision(d Decision) error {
	if d != Reject && d != Force {
		return fmt.Errorf("policy: unknown decision %d", int(d))
	}
	return nil
}

// decide settles a conflict whose path is known.
func (p Policy) decide(path fieldowners.Path) Decision {
	decision, longest := p.otherwise, 0
	for _, r := range p.rules {
		if path.HasPrefix(r.path) && r.path.Len() > longest {
			decision, longest = r.decision, r.path.Len()
		}
	}
	return decision
}

// decideByServerPath settles a conflict of which only the server's ambiguous
// string is known: the rules that may hold have to agree, or it is rejected.
func (p Policy) decideByServerPath(serverPath string) Decision {
	decision := p.otherwise
	for _, r := range p.rules {
		if mayLieBelow(serverPath, r.path.ServerString()) && r.decision != decision {
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
