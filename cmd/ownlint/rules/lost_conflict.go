package rules

import (
	"golang.org/x/tools/go/ssa"

	"coapply.dev/cmd/ownlint/internal/flow"
	"coapply.dev/cmd/ownlint/internal/kube"
)

// LostConflict reports conflicts that the code which handles conflicts never sees.
var LostConflict = newRule("lost-conflict", "report errors of writes that a retry or IsConflict can no longer recognise as conflicts", lostConflict)

func lostConflict(c *checker) {
	for _, fn := range c.Functions {
		for _, r := range c.Body(fn).Retries {
			if r.Attempt != nil && r.Conflicts {
				c.lostInAttempt(r.Attempt)
			}
		}
	}
	c.eachCall(c.lostInCallee)
}

// lostInAttempt reports writes of a retried function whose conflict the retry does not see.
func (c *checker) lostInAttempt(attempt *ssa.Function) {
	for _, w := range c.Body(attempt).Writes {
		if hidden := c.HiddenBy(w); hidden != nil {
			c.report(hidden, nil, "the retry does not recognise a conflict of the write because the error is formatted without %%w; wrap the error with %%w")
			continue
		}
		if value := w.Call.Value(); value == nil { // go and defer
			continue
		}
		if err := flow.ErrorOf(w.Call); err == nil || !flow.Escapes(err) {
			c.report(w.Call, nil, "the retry never sees a conflict of this write because the retried function drops the error; return the error")
		}
	}
	eachCallOf(attempt, func(call ssa.CallInstruction) {
		e := c.CalleeEffects(call.Common())
		if err := flow.ErrorOf(call); e != nil && e.Hides && err != nil && flow.Escapes(err) {
			c.report(call, nil, "the retry does not recognise a conflict that %s returns, because %[1]s formats the error of its write without %%w; wrap the error with %%w in %[1]s",
				call.Common().StaticCallee().Name())
		}
	})
}

// lostInCallee reports a call of IsConflict on an error that cannot be recognised any more.
func (c *checker) lostInCallee(call ssa.CallInstruction) {
	if !kube.Is(call.Common(), kube.APIErrors, "IsConflict") {
		return
	}
	arg := call.Common().Args[0]
	if extract, ok := arg.(*ssa.Extract); ok {
		arg = extract.Tuple
	}
	source, ok := arg.(*ssa.Call)
	if !ok {
		return
	}
	if e := c.CalleeEffects(source.Common()); e != nil && e.Hides {
		c.report(call, nil, "IsConflict never recognises a conflict that %s returns, because %[1]s formats the error of its write without %%w; wrap the error with %%w in %[1]s",
			source.Common().StaticCallee().Name())
	}
}
