package rules

import (
	"slices"

	"golang.org/x/tools/go/ssa"

	"coapply.dev/cmd/ownlint/internal/flow"
	"coapply.dev/cmd/ownlint/internal/kube"
)

// StaleRetry reports retries that cannot succeed or that multiply.
var StaleRetry = newRule("stale-retry", "report retries that send a stale object again, nested retries, and retries of ownership conflicts", staleRetry)

func staleRetry(c *checker) {
	for _, fn := range c.Functions {
		for _, r := range c.Body(fn).Retries {
			if r.Attempt != nil && r.Conflicts {
				c.staleObject(r)
				c.nestedRetry(r)
				c.retriedApply(r)
			}
		}
	}
}

// staleObject reports an attempt that sends an object from outside of the attempt without reading it.
func (c *checker) staleObject(r flow.Retry) {
	for _, fn := range flow.WithLiterals(r.Attempt) {
		for _, w := range c.Body(fn).Writes {
			if w.Verb != kube.Update && w.Verb != kube.StatusUpdate || w.Through != nil && w.Through.Reads {
				continue
			}
			if isOutside(w.Place.Base, r.Attempt) && !c.refreshed(r.Attempt, w) {
				c.report(w.Call, nil, "each attempt sends the resourceVersion of an object that was read outside of the retry, "+
					"so every attempt after a conflict fails again; read the object inside the retried function")
			}
		}
	}
}

// isOutside reports whether a value exists before the function literal is called.
func isOutside(base ssa.Value, attempt *ssa.Function) bool {
	switch base.(type) {
	case *ssa.Alloc, *ssa.Parameter, *ssa.Call, *ssa.Extract, *ssa.FreeVar:
	default:
		return false
	}
	for fn := base.Parent(); fn != nil; fn = fn.Parent() {
		if fn == attempt {
			return false
		}
	}
	return base.Parent() != nil
}

// refreshed reports whether an attempt may read the object again: it reads the object, stores into it, or passes it to a
// function that is not known to leave the object's resourceVersion alone.
func (c *checker) refreshed(attempt *ssa.Function, w flow.Write) bool {
	found := c.ReadIn(attempt, w.Place)
	for _, fn := range flow.WithLiterals(attempt) {
		for _, change := range c.Body(fn).Changes { // *object = ..., SetResourceVersion or an unknown function
			found = found || change.Place == w.Place && (change.Area&flow.OtherMeta != 0 || change.Area&flow.Spec != 0 && len(change.Fields) == 0)
		}
		eachCallOf(fn, func(call ssa.CallInstruction) {
			found = found || call != w.Call && c.mayRead(call, w.Place)
		})
		found = found || assigns(fn, w.Place)
	}
	return found
}

// mayRead reports whether a call passes the object to a function that may read it from the API server, or its metadata to a
// function that may set the resourceVersion.
func (c *checker) mayRead(call ssa.CallInstruction, place flow.Place) bool {
	common := call.Common()
	if kube.RequestOf(call) != nil || common.IsInvoke() && flow.PlaceOf(common.Value) == place {
		return false
	}
	method := common.Signature().Recv() != nil
	for i, arg := range common.Args {
		if (i > 0 || !method) && flow.PlaceOf(arg) == (flow.Place{Base: place.Base, Path: place.Path + ".ObjectMeta"}) {
			return true // such as a function that copies the resourceVersion of the object that was read
		}
	}
	if kube.Is(common, kube.ControllerUtil, "AddFinalizer", "RemoveFinalizer", "ContainsFinalizer", "SetControllerReference", "SetOwnerReference") ||
		kube.Is(common, kube.Client, "ObjectKeyFromObject") || c.CalleeEffects(common) != nil {
		return false
	}
	for i, arg := range common.Args {
		if flow.PlaceOf(arg) == place && (i > 0 || !method) {
			return true
		}
	}
	return false
}

// assigns reports whether a function assigns the variable that holds the object.
func assigns(fn *ssa.Function, place flow.Place) bool {
	for _, b := range fn.Blocks {
		for _, instr := range b.Instrs {
			if s, ok := instr.(*ssa.Store); ok && flow.PlaceOf(s.Addr) == place {
				return true
			}
		}
	}
	return false
}

// nestedRetry reports a retry within a retried function.
func (c *checker) nestedRetry(r flow.Retry) {
	for _, fn := range flow.WithLiterals(r.Attempt) {
		eachCallOf(fn, func(call ssa.CallInstruction) {
			e := c.CalleeEffects(call.Common())
			inner := slices.ContainsFunc(c.Body(fn).Retries, func(r flow.Retry) bool { return r.Call == call && r.Conflicts })
			if inner || e != nil && e.Retries {
				c.report(call, nil, "a retry inside a retried function multiplies the attempts: two nested retries with DefaultRetry send up to 25 writes; retry in one place only")
			}
		})
	}
}

// retriedApply reports an attempt whose only writes are server-side applies.
func (c *checker) retriedApply(r flow.Retry) {
	var applies []ssa.CallInstruction
	for _, fn := range flow.WithLiterals(r.Attempt) {
		for _, req := range c.Body(fn).Requests {
			switch {
			case isApply(req):
				applies = append(applies, req.Call)
			case req.Verb != kube.Get && req.Verb != kube.List:
				return
			}
		}
		for _, change := range c.Body(fn).Changes {
			if change.Area&flow.OtherMeta != 0 {
				return // perhaps a resourceVersion, which can be stale
			}
		}
		for _, w := range c.Body(fn).Writes {
			if w.Request == nil {
				return
			}
		}
	}
	for _, call := range applies {
		c.report(call, nil, "a conflict of an apply without resourceVersion is an ownership conflict, and a retry gets the same conflict; "+
			"apply once, and then return the conflict or decide who owns each conflicting field")
	}
}

// isApply reports whether a request is a server-side apply.
func isApply(req *kube.Request) bool {
	return req.Verb == kube.Apply || req.Patch != nil && isGlobal(req.Patch, kube.Client, "Apply")
}
