package rules

import (
	"regexp"
	"slices"

	"golang.org/x/tools/go/ssa"

	"coapply.dev/cmd/ownlint/internal/flow"
	"coapply.dev/cmd/ownlint/internal/kube"
)

// NotRepeatable reports steps of a retried function that must not run once for each attempt.
var NotRepeatable = newRule("not-repeatable", "report side effects and increments that a retry repeats", notRepeatable)

func notRepeatable(c *checker) {
	for _, fn := range c.Functions {
		for _, r := range c.Body(fn).Retries {
			if r.Attempt != nil && r.Conflicts {
				for _, w := range c.Body(r.Attempt).Writes {
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
				if name := accumulates(instr); name != "" {
					c.report(instr, nil, "each attempt changes %s again, because the retried function does not reset %s; reset %s at the start of the retried function, or compute the value "+
						"from the object that the attempt reads", name, name, name)
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
func accumulates(s *ssa.Store) string {
	variable, ok := s.Addr.(*ssa.FreeVar)
	if !ok || countsAttempts.MatchString(variable.Name()) || assignedBefore(s) {
		return ""
	}
	var previous ssa.Value
	switch v := s.Val.(type) {
	case *ssa.BinOp:
		previous = v.X
	case *ssa.Call:
		if b, ok := v.Call.Value.(*ssa.Builtin); ok && b.Name() == "append" {
			previous = v.Call.Args[0]
		}
	}
	if load, ok := previous.(*ssa.UnOp); ok && load.X == variable {
		return variable.Name()
	}
	return ""
}

// assignedBefore reports whether the attempt assigns the variable of a store another value first.
func assignedBefore(s *ssa.Store) bool {
	return slices.ContainsFunc(*s.Addr.Referrers(), func(ref ssa.Instruction) bool {
		other, ok := ref.(*ssa.Store)
		return ok && other != s && flow.Dominates(other, s)
	})
}
