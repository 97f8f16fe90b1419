package rules

import (
	"golang.org/x/tools/go/ssa"

	"coapply.dev/cmd/ownlint/internal/flow"
	"coapply.dev/cmd/ownlint/internal/kube"
)

// StatusUpdate reports writes that replace the whole status of an object that was just read with an older status.
var StatusUpdate = newRule("status-update", "report status writes that replace the fields of other writers without a conflict", statusUpdate)

func statusUpdate(c *checker) {
	for _, fn := range c.Functions {
		for _, w := range c.Body(fn).Writes {
			if w.Verb != kube.StatusUpdate && w.Verb != kube.Update && w.Verb != kube.StatusPatch {
				continue
			}
			for _, change := range c.ChangesBefore(w) {
				if s, ok := change.Instr.(*ssa.Store); ok && c.replacesStatus(s, change) {
					c.report(s, nil, "after the object was read again, its whole status is replaced with an older one, so status changes of other "+
						"writers are lost without a conflict; set only the fields that this controller computes")
				}
			}
		}
	}
}

// replacesStatus reports whether a store replaces the whole status of an object that the same function read, with a status
// from before: that of another object, or a variable of the function around a function literal.
func (c *checker) replacesStatus(s *ssa.Store, change flow.Change) bool {
	if len(change.Fields) != 1 || change.Fields[0] != "Status" || !c.ReadIn(s.Parent(), change.Place) || !c.WasRead(s, change.Place) {
		return false
	}
	source := flow.PlaceOf(s.Val)
	if source.Base == change.Place.Base {
		return false
	}
	switch base := source.Base.(type) {
	case *ssa.Parameter, *ssa.Alloc, *ssa.Extract:
		return base.Parent() != s.Parent() || source.Path == ".Status" && typedObject(base) != nil
	case *ssa.Call:
		return base.Parent() != s.Parent()
	}
	return false
}
