package rules

import (
	"go/types"

	"golang.org/x/tools/go/ssa"

	"coapply.dev/cmd/ownlint/internal/flow"
	"coapply.dev/cmd/ownlint/internal/kube"
	"coapply.dev/cmd/ownlint/internal/spelling"
)

// WideUpdate reports writes of a whole typed object for a change of metadata, where the Go type spells some values of
// other field managers differently.
var WideUpdate = newRule("wide-update", "report whole-object writes that only change metadata and take fields of other field managers", wideUpdate)

func wideUpdate(c *checker) {
	for _, fn := range c.Functions {
		for _, w := range c.Writes(fn) {
			if area := c.ChangedBefore(w); area != 0 && area&^flow.Metadata == 0 && isWhole(w) && !reportedInside(w) {
				c.judgeWidth(w, area)
			}
		}
	}
}

// isWhole reports whether a write sends every field of the object.
func isWhole(w flow.Write) bool {
	switch w.Verb {
	case kube.Update:
		return true
	case kube.Patch:
		return isGlobal(w.Request.Patch, kube.Client, "Merge")
	}
	return false
}

// reportedInside reports whether the function that the write calls gets a finding of its own.
func reportedInside(w flow.Write) bool {
	return w.Through != nil && !w.Through.Open && w.Through.Written != 0
}

func (c *checker) judgeWidth(w flow.Write, area flow.Area) {
	object := kube.TypedObject(flow.TypeOf(w.Object))
	if object == nil || kube.IsBuiltIn(object) {
		return
	}
	changes := c.Spelling(object)
	if len(changes) == 0 {
		return
	}
	c.report(w.Call, c.narrowPatch(w), "the write sends the whole %s but changes only its %s; encoding the Go type also changes %s, "+
		"and the API server makes this client the owner of the changed fields; send a merge patch of the %s with resourceVersion instead",
		object.Obj().Name(), area, spelling.Summary(changes), area)
}

// isGlobal reports whether a value is the content of the package-level variable path.name.
func isGlobal(v ssa.Value, path, name string) bool {
	load, ok := flow.Unwrap(v).(*ssa.UnOp)
	if !ok {
		return false
	}
	g, ok := load.X.(*ssa.Global)
	return ok && g.Name() == name && g.Pkg != nil && kube.Path(g.Pkg.Pkg) == path
}

// isTyped reports whether a value holds a typed API object.
func isTyped(v ssa.Value) *types.Named { return kube.TypedObject(flow.TypeOf(v)) }
