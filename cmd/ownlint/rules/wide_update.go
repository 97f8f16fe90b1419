package rules

import (
	"go/types"
	"regexp"
	"slices"

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
		for _, w := range c.Body(fn).Writes {
			if area := c.ChangedBefore(w); area != 0 && area&^flow.Metadata == 0 && isWhole(w) && !reportedInside(w) && c.isLive(w, area) {
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
	c.report(w.Call, c.narrowPatch(w), "the write sends the whole %s but changes only its %s; encoding the Go type can also change %s, "+
		"and the API server makes this client the owner of the changed fields; send a merge patch of the %s with resourceVersion instead",
		object.Obj().Name(), area, spelling.Summary(changes), area)
}

// isLive reports whether the written object is surely one that was read, and not one that the controller builds to create
// or replace an object. Builders set owner references too.
func (c *checker) isLive(w flow.Write, area flow.Area) bool {
	if c.WasRead(w.Call, w.Place) || w.Place.Path != "" {
		return true
	}
	for _, req := range c.Body(w.Call.Parent()).Requests {
		if req.Verb == kube.Create && req.Object != nil && flow.PlaceOf(req.Object) == w.Place {
			return false
		}
	}
	switch base := w.Place.Base.(type) {
	case *ssa.Parameter:
		return area&flow.OwnerReferences == 0
	case *ssa.Alloc:
		return copiesItem(base)
	}
	source := sourceCall(w.Place.Base)
	if source == nil {
		return false
	}
	req := kube.RequestOf(source)
	return req != nil && req.Verb == kube.Get || isCacheRead(source) || isNamed(source, getterName)
}

var getterName = regexp.MustCompile(`(?i)^(get|fetch|find|load|lookup|read)`)

// copiesItem reports whether a variable is the copy of an item of a list, as in a range loop.
func copiesItem(variable *ssa.Alloc) bool {
	return slices.ContainsFunc(*variable.Referrers(), func(ref ssa.Instruction) bool {
		s, ok := ref.(*ssa.Store)
		return ok && s.Addr == variable && flow.PlaceOf(s.Val).Path != ""
	})
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

// typedObject returns the type of the typed API object that a value holds, nil for other values.
func typedObject(v ssa.Value) *types.Named { return kube.TypedObject(flow.TypeOf(v)) }
