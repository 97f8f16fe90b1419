package flow

import (
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"

	"coapply.dev/cmd/ownlint/internal/kube"
)

// A Place names an object within a function and the function literals in it: a value and the fields that lead from the
// value to the object. Two uses of one variable have the same place.
type Place struct {
	Base ssa.Value
	Path string
}

// PlaceOf returns the place of a value. Interface conversions, loads and captured variables do not change the place.
func PlaceOf(v ssa.Value) Place { return placeOf(v, 0) }

// maxSteps ends the walk through values that refer to each other, as in loops.
const maxSteps = 40

func placeOf(v ssa.Value, phis int) Place {
	path := ""
	for range maxSteps {
		from, name := step(v, phis)
		if from == nil {
			break
		}
		if name != "" {
			path = "." + name + path
		}
		v = from
	}
	return Place{v, path}
}

// objectOf returns the API object that a value is or belongs to, and the names of the fields that lead there.
func objectOf(v ssa.Value) (object ssa.Value, fields []string) {
	for range maxSteps {
		if kube.IsObject(v.Type()) {
			slices.Reverse(fields)
			return v, fields
		}
		from, name := step(v, 0)
		if from == nil {
			break
		}
		if name != "" {
			fields = append(fields, name)
		}
		v = from
	}
	return nil, nil
}

// step returns the value that a value was taken from, and the field or index that was taken; nil at the start of a walk.
// The number of phis around the value bounds the time for nested phis.
func step(v ssa.Value, phis int) (from ssa.Value, name string) {
	if x := Unwrap(v); x != v {
		return x, ""
	}
	switch v := v.(type) {
	case *ssa.FieldAddr:
		return v.X, FieldName(v)
	case *ssa.Field:
		return v.X, fieldOf(v.X.Type(), v.Field).Name()
	case *ssa.IndexAddr:
		return v.X, "[" + v.Index.Name() + "]"
	case *ssa.Slice:
		return v.X, ""
	case *ssa.FreeVar:
		return binding(v), ""
	case *ssa.UnOp:
		if v.Op != token.MUL {
			return nil, ""
		}
		if stored := onlyValue(v.X); stored != nil {
			return stored, ""
		}
		return v.X, ""
	case *ssa.Phi:
		if phis < 2 {
			return sameEdge(v, phis+1), ""
		}
	}
	return nil, ""
}

// sameEdge returns an operand of a phi whose operands, other than nil, all have one place.
func sameEdge(phi *ssa.Phi, phis int) (same ssa.Value) {
	for _, edge := range phi.Edges {
		if c, ok := edge.(*ssa.Const); ok && c.IsNil() || edge == phi {
			continue
		}
		if same != nil && placeOf(same, phis) != placeOf(edge, phis) {
			return nil
		}
		same = edge
	}
	return same
}

// Unwrap returns the value within an interface or type conversion, and the value itself if there is none.
func Unwrap(v ssa.Value) ssa.Value {
	switch x := v.(type) {
	case *ssa.MakeInterface:
		return x.X
	case *ssa.ChangeInterface:
		return x.X
	case *ssa.ChangeType:
		return x.X
	case *ssa.TypeAssert:
		return x.X
	case *ssa.Extract:
		if assert, ok := x.Tuple.(*ssa.TypeAssert); ok && x.Index == 0 {
			return assert.X
		}
	}
	return v
}

// FieldName returns the name of the field whose address an instruction takes.
func FieldName(f *ssa.FieldAddr) string { return fieldOf(f.X.Type(), f.Field).Name() }

func fieldOf(t types.Type, i int) *types.Var {
	if p, ok := types.Unalias(t).Underlying().(*types.Pointer); ok {
		t = p.Elem()
	}
	if s, ok := t.Underlying().(*types.Struct); ok {
		return s.Field(i)
	}
	return types.NewField(0, nil, "?", t, false) // a type parameter whose types are structs
}

// binding returns the value that a function literal captured as a free variable.
func binding(v *ssa.FreeVar) ssa.Value {
	i := slices.Index(v.Parent().FreeVars, v)
	if mc := closureOf(v.Parent()); mc != nil && i >= 0 {
		return mc.Bindings[i]
	}
	return nil
}

// closureOf returns the instruction that makes a function literal a closure, nil if the literal captures nothing.
func closureOf(fn *ssa.Function) *ssa.MakeClosure {
	if fn.Parent() == nil {
		return nil
	}
	for _, b := range fn.Parent().Blocks {
		for _, instr := range b.Instrs {
			if mc, ok := instr.(*ssa.MakeClosure); ok && mc.Fn == fn {
				return mc
			}
		}
	}
	return nil
}

// onlyValue returns the only value that is ever stored in a local variable that holds a pointer or an interface.
func onlyValue(addr ssa.Value) ssa.Value {
	if free, ok := addr.(*ssa.FreeVar); ok {
		addr = binding(free)
	}
	variable, ok := addr.(*ssa.Alloc)
	if !ok || kube.TypedObject(variable.Type().(*types.Pointer).Elem()) != nil && !isPointer(variable.Type().(*types.Pointer).Elem()) {
		return nil
	}
	var stored []ssa.Value
	collectStores(variable, &stored)
	if len(stored) != 1 {
		return nil
	}
	return stored[0]
}

func isPointer(t types.Type) bool {
	_, ok := t.Underlying().(*types.Pointer)
	return ok
}

func collectStores(addr ssa.Value, stored *[]ssa.Value) {
	for _, ref := range *addr.Referrers() {
		switch ref := ref.(type) {
		case *ssa.Store:
			if c, ok := ref.Val.(*ssa.Const); ref.Addr == addr && (!ok || !c.IsNil()) {
				*stored = append(*stored, ref.Val)
			}
		case *ssa.MakeClosure:
			i := slices.Index(ref.Bindings, addr)
			collectStores(ref.Fn.(*ssa.Function).FreeVars[i], stored)
		}
	}
}

// TypeOf returns the type of the object behind a value, with interface conversions taken away as far as possible.
func TypeOf(v ssa.Value) types.Type {
	for x := v; ; {
		if kube.TypedObject(x.Type()) != nil {
			return x.Type()
		}
		inner := Unwrap(x)
		if inner == x {
			break
		}
		x = inner
	}
	if p := PlaceOf(v); p.Path == "" {
		return p.Base.Type()
	}
	return v.Type()
}
