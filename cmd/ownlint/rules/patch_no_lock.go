package rules

import (
	"go/ast"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"

	"coapply.dev/cmd/ownlint/internal/flow"
	"coapply.dev/cmd/ownlint/internal/kube"
)

// PatchNoLock reports merge patches that replace a list without a resourceVersion.
var PatchNoLock = newRule("patch-no-lock", "report merge patches of lists without optimistic lock", patchNoLock)

func patchNoLock(c *checker) {
	for _, fn := range c.Functions {
		for _, w := range c.Body(fn).Writes {
			if w.Request == nil || w.Request.Patch == nil {
				continue
			}
			mergeFrom := callOf(w.Request.Patch)
			if mergeFrom == nil || !kube.Is(mergeFrom.Common(), kube.Client, "MergeFrom") {
				continue
			}
			var lists flow.Area
			for _, change := range c.ChangesBefore(w) {
				if base := copyOfBase(mergeFrom, w.Place); change.Sure && (base == nil || flow.Reaches(base, change.Instr)) {
					lists |= change.Area & listsOf(w.Verb)
				}
			}
			if lists != 0 {
				c.report(w.Call, c.lockFix(mergeFrom), "a merge patch replaces the whole list of %s, so an item that another writer adds between the read and "+
					"the patch is lost without a conflict; use client.MergeFromWithOptions with client.MergeFromWithOptimisticLock{}", lists)
			}
		}
	}
}

// listsOf returns the lists that a patch of the object, or of its status, can replace.
func listsOf(verb kube.Verb) flow.Area {
	if verb == kube.StatusPatch {
		return flow.Conditions
	}
	return flow.Finalizers | flow.OwnerReferences
}

// callOf returns the call that computes a value, nil if another instruction does.
func callOf(v ssa.Value) *ssa.Call {
	base := flow.PlaceOf(v)
	if base.Path != "" {
		return nil
	}
	call, _ := base.Base.(*ssa.Call)
	return call
}

// copyOfBase returns the instruction that copies the written object as the base of a patch, nil if the base is another
// object.
func copyOfBase(mergeFrom *ssa.Call, written flow.Place) ssa.Instruction {
	base := mergeFrom.Call.Args[0]
	if copied := callOf(base); copied != nil {
		return copied
	}
	if flow.PlaceOf(base) != written {
		return nil
	}
	return mergeFrom
}

// lockFix turns client.MergeFrom(base) into a call that adds the optimistic lock.
func (c *checker) lockFix(mergeFrom *ssa.Call) []analysis.SuggestedFix {
	call := c.callExpr(mergeFrom)
	if call == nil {
		return nil
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return nil
	}
	pkg, ok := sel.X.(*ast.Ident)
	if !ok {
		return nil
	}
	return []analysis.SuggestedFix{{
		Message: "Add the optimistic lock",
		TextEdits: []analysis.TextEdit{
			{Pos: sel.Sel.Pos(), End: sel.Sel.End(), NewText: []byte("MergeFromWithOptions")},
			{Pos: call.Rparen, End: call.Rparen, NewText: []byte(", " + pkg.Name + ".MergeFromWithOptimisticLock{}")},
		},
	}}
}
