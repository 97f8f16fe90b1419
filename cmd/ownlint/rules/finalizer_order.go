package rules

import (
	"regexp"

	"golang.org/x/tools/go/ssa"

	"coapply.dev/cmd/ownlint/internal/flow"
	"coapply.dev/cmd/ownlint/internal/kube"
)

// FinalizerOrder reports external resources that stay after a crash or an error, because the finalizer is stored too late or
// removed too early.
var FinalizerOrder = newRule("finalizer-order", "report finalizers that are stored after an external resource is created, or removed before the clean-up is confirmed", finalizerOrder)

var provisionName = regexp.MustCompile(`(?i)^(provision|allocate)|^(Create|Ensure|Reconcile)External`)

var cleanupName = regexp.MustCompile(`(?i)^(clean_?up|finali[sz]e|tear_?down|destroy|deprovision)|^(Delete|Remove)External`)

func finalizerOrder(c *checker) {
	for _, fn := range c.Functions {
		for _, w := range c.Body(fn).Writes {
			if w.Verb != kube.Update && w.Verb != kube.Patch {
				continue
			}
			for _, change := range c.ChangesBefore(w) {
				call, ok := change.Instr.(*ssa.Call)
				if !ok || change.Instr.Parent() != fn {
					continue
				}
				if kube.Is(call.Common(), kube.ControllerUtil, "AddFinalizer") {
					c.provisionedBefore(fn, w)
				}
				if kube.Is(call.Common(), kube.ControllerUtil, "RemoveFinalizer") {
					c.cleanupAfter(fn, w)
					c.cleanupUnchecked(fn, call)
				}
			}
		}
	}
}

// provisionedBefore reports an external resource that is created before the finalizer is stored.
func (c *checker) provisionedBefore(fn *ssa.Function, w flow.Write) {
	eachCallOf(fn, func(call ssa.CallInstruction) {
		if takesObject(call, w.Place) && isNamed(call, provisionName) && flow.Dominates(call, w.Call) {
			c.report(call, nil, "the external resource is created before the finalizer is stored; if the write fails or the process crashes between them, "+
				"a deletion of the object leaves the resource behind; store the finalizer first")
		}
	})
}

// cleanupAfter reports a clean-up that only runs after the finalizer was removed.
func (c *checker) cleanupAfter(fn *ssa.Function, w flow.Write) {
	eachCallOf(fn, func(call ssa.CallInstruction) {
		if takesObject(call, w.Place) && isNamed(call, cleanupName) && flow.Dominates(w.Call, call) {
			c.report(call, nil, "the clean-up runs after the finalizer was removed; the API server may delete the object first, and after a crash "+
				"nothing runs the clean-up; remove the finalizer after the clean-up has succeeded")
		}
	})
}

// cleanupUnchecked reports a clean-up whose error is dropped before the finalizer is removed.
func (c *checker) cleanupUnchecked(fn *ssa.Function, remove *ssa.Call) {
	eachCallOf(fn, func(call ssa.CallInstruction) {
		results := call.Common().Signature().Results()
		if !isNamed(call, cleanupName) || results.Len() == 0 || results.At(results.Len()-1).Type().String() != "error" {
			return
		}
		err := flow.ErrorOf(call)
		dropped := err == nil || err.Referrers() == nil || len(*err.Referrers()) == 0
		if _, deferred := call.(*ssa.Defer); !deferred && dropped && flow.Dominates(call, remove) {
			c.report(call, nil, "the finalizer is removed even if the clean-up fails, because the error of the clean-up is dropped; "+
				"return the error before the finalizer is removed")
		}
	})
}

func isNamed(call ssa.CallInstruction, name *regexp.Regexp) bool {
	fn := kube.Callee(call.Common())
	return fn != nil && name.MatchString(fn.Name())
}

func takesObject(call ssa.CallInstruction, place flow.Place) bool {
	for _, arg := range call.Common().Args {
		if flow.PlaceOf(arg) == place {
			return true
		}
	}
	return false
}
