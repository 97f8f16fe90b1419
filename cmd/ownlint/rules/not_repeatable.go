package rules

import (
	"go/token"
	"regexp"

	"golang.org/x/tools/go/ssa"

	"coapply.dev/cmd/ownlint/internal/flow"
	"coapply.dev/cmd/ownlint/internal/kube"
)

// NotRepeatable reports steps of a retried function that must not run once for each attempt.
var NotRepeatable = newRule("not-repeatable", "report side effects and increments that a retry repeats", notRepeatable)

func notRepeatable(c *checker) {
	for _, fn := range c.Functions {
		for _, r := range c.Retries(fn) {
			if r.Attempt != nil && retriesConflicts(r.Call) {
				for _, w := range c.Writes(r.Attempt) {
					c.repeated(r.Attempt, w)
				}
			}
		}
	}
}

// repeated reports what happens before a write and happens again after a conflict of the write.
func (c *checker) repeated(attempt *ssa.Function, w flow.Write) {
	if w.Verb != kube.Update && w.Verb != kube.StatusUpdate {
		return
	}
	for _, b := range attempt.Blocks {
		for _, instr := range b.Instrs {
			if instr == w.Call || !flow.Reaches(instr, w.Call) {
				continue
			}
			switch instr := instr.(type) {
			case *ssa.Call:
				if effect := sideEffect(instr); effect != "" {
					c.report(instr, nil, "%s comes before a write that may conflict, so each attempt repeats %s; move %s out of the retried function",
						effect, effect, effect)
				}
			case *ssa.Store:
				if name := c.accumulates(instr, attempt); name != "" {
					c.report(instr, nil, "each attempt changes %s again, because the retried function does not reset %s; compute the value from the object "+
						"that the attempt reads", name, name)
				}
			}
		}
	}
}

// sideEffect names what a call does outside of the object, "" if nothing is known.
func sideEffect(call *ssa.Call) string {
	if req := kube.RequestOf(call); req != nil {
		if req.Verb == kube.Create {
			return "the creation of an object"
		}
		return ""
	}
	fn := kube.Callee(call.Common())
	if fn == nil {
		return ""
	}
	switch path := kube.Path(fn.Pkg()); {
	case (path == "k8s.io/client-go/tools/record" || path == "k8s.io/client-go/tools/events") &&
		(fn.Name() == "Event" || fn.Name() == "Eventf" || fn.Name() == "AnnotatedEventf"):
		return "the event"
	case path == "net/http" && (fn.Name() == "Do" || fn.Name() == "Post" || fn.Name() == "PostForm"):
		return "the HTTP request"
	}
	return ""
}

var countsAttempts = regexp.MustCompile(`(?i)attempt|tries|retry|retries`)

// accumulates returns the name of a captured variable that a store increments or appends to, "" if the store does
// neither. A variable that counts attempts is meant to be incremented.
func (c *checker) accumulates(s *ssa.Store, attempt *ssa.Function) string {
	variable, ok := s.Addr.(*ssa.FreeVar)
	if !ok || countsAttempts.MatchString(variable.Name()) || assignedBefore(s, attempt) {
		return ""
	}
	loadsVariable := func(v ssa.Value) bool {
		load, ok := v.(*ssa.UnOp)
		return ok && load.Op == token.MUL && load.X == variable
	}
	switch v := s.Val.(type) {
	case *ssa.BinOp:
		if loadsVariable(v.X) && (v.Op == token.ADD || v.Op == token.SUB) {
			return variable.Name()
		}
	case *ssa.Call:
		if b, ok := v.Call.Value.(*ssa.Builtin); ok && b.Name() == "append" && loadsVariable(v.Call.Args[0]) {
			return variable.Name()
		}
	}
	return ""
}

// assignedBefore reports whether the attempt assigns the variable of a store another value first.
func assignedBefore(s *ssa.Store, attempt *ssa.Function) bool {
	for _, ref := range *s.Addr.Referrers() {
		if other, ok := ref.(*ssa.Store); ok && other != s && other.Parent() == attempt && flow.Dominates(other, s) {
			return true
		}
	}
	return false
}
