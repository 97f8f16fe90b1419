package rules

import (
	"go/constant"

	"golang.org/x/tools/go/ssa"

	"coapply.dev/cmd/ownlint/internal/flow"
	"coapply.dev/cmd/ownlint/internal/kube"
	"coapply.dev/cmd/ownlint/internal/spelling"
)

// ApplyFromObject reports applies that claim more fields than the controller means to own, or name no field manager.
var ApplyFromObject = newRule("apply-from-object", "report applies of objects that were read, of Go types that encode unset fields, and without a field manager", applyFromObject)

func applyFromObject(c *checker) {
	for _, fn := range c.Functions {
		for _, req := range c.Body(fn).Requests {
			if isApply(req) {
				c.emptyFieldManager(req)
				c.applied(req)
			}
		}
	}
}

// applied judges the body of an apply.
func (c *checker) applied(req *kube.Request) {
	if req.Object == nil {
		return
	}
	body := req.Object
	if convert := callOf(body); convert != nil && kube.Is(convert.Common(), kube.Client, "ApplyConfigurationFromUnstructured") {
		body = convert.Call.Args[0]
	}
	place := flow.PlaceOf(body)
	if c.WasRead(req.Call, place) && !c.emptied(req, place) {
		c.report(req.Call, nil, "the apply sends an object that was read from the API server, so this field manager becomes an owner of every field of the object; "+
			"the API server also refuses an apply with managedFields; apply a new object with only the fields that this controller sets")
		return
	}
	object := typedObject(body)
	if object == nil {
		return
	}
	var added []spelling.Change
	for _, change := range c.Spelling(object) {
		if change.Kind == spelling.Added {
			added = append(added, change)
		}
	}
	if len(added) > 0 {
		c.report(req.Call, nil, "the apply sends the Go type %s, whose JSON contains fields that were never set: %s; this field manager becomes an owner of these fields; "+
			"use a generated apply configuration or an unstructured object", object.Obj().Name(), spelling.Summary(added))
	}
}

// emptied reports whether the function replaces the content of the object between the read and the apply.
func (c *checker) emptied(req *kube.Request, place flow.Place) bool {
	for _, change := range c.Body(req.Call.Parent()).Changes {
		if change.Place == place && change.Sure && change.Area&flow.Spec != 0 && len(change.Fields) == 0 {
			return true
		}
	}
	return assigns(req.Call.Parent(), place)
}

// emptyFieldManager reports an apply whose options name no field manager.
func (c *checker) emptyFieldManager(req *kube.Request) {
	if kube.IsNamed(req.Options.Type(), kube.MetaV1, "ApplyOptions") {
		if isEmptyOptions(req.Options) {
			c.report(req.Call, nil, "the apply names no field manager, so the API server refuses the apply; set FieldManager in metav1.ApplyOptions")
		}
		return
	}
	for _, option := range elements(req.Options) {
		name, ok := flow.Unwrap(option).(*ssa.Const)
		if ok && kube.IsNamed(name.Type(), kube.Client, "FieldOwner") && name.Value != nil && constant.StringVal(name.Value) == "" {
			c.report(req.Call, nil, "the field manager is empty, so the API server refuses the apply; give client.FieldOwner a name")
		}
	}
}

// isEmptyOptions reports whether metav1.ApplyOptions come from a literal that sets no field manager.
func isEmptyOptions(v ssa.Value) bool {
	if c, ok := v.(*ssa.Const); ok {
		return c.Value == nil
	}
	load, ok := v.(*ssa.UnOp)
	if !ok {
		return false
	}
	literal, ok := load.X.(*ssa.Alloc)
	if !ok {
		return false
	}
	for _, ref := range *literal.Referrers() {
		switch ref := ref.(type) {
		case *ssa.FieldAddr:
			if flow.FieldName(ref) == "FieldManager" {
				return false
			}
		case *ssa.UnOp, *ssa.DebugRef:
		default:
			return false
		}
	}
	return true
}

// elements returns the values of variadic arguments that a call lists one by one.
func elements(variadic ssa.Value) []ssa.Value {
	slice, ok := variadic.(*ssa.Slice)
	if !ok {
		return nil
	}
	var list []ssa.Value
	for _, ref := range *slice.X.Referrers() {
		index, ok := ref.(*ssa.IndexAddr)
		if !ok {
			continue
		}
		for _, use := range *index.Referrers() {
			if s, ok := use.(*ssa.Store); ok {
				list = append(list, s.Val)
			}
		}
	}
	return list
}
