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
func PlaceOf(v ssa.Value) Place {
	return placeOf(v, 0)
}

func placeOf(v ssa.Value, depth int) Place {
	if depth > 40 {
		return Place{Base: v}
	}
	within := func(x ssa.Value, step string) Place {
		p := placeOf(x, depth+1)
		p.Path += step
		return p
	}
	if x := Unwrap(v); x != v {
		return within(x, "")
	}
	switch v := v.(type) {
	case *ssa.FieldAddr:
		return within(v.X, "."+fieldOf(v.X.Type(), v.Field).Name())
	case *ssa.Field:
		return within(v.X, "."+fieldOf(v.X.Type(), v.Field).Name())
	case *ssa.IndexAddr:
		return within(v.X, "["+v.Index.Name()+"]")
	case *ssa.Slice:
		return within(v.X, "")
	case *ssa.FreeVar:
		if b := binding(v); b != nil {
			return within(b, "")
		}
	case *ssa.UnOp:
		if v.Op != token.MUL {
			break
		}
		if stored := onlyValue(v.X); stored != nil {
			return within(stored, "")
		}
		return within(v.X, "")
	case *ssa.Phi:
		if same := samePlace(v, depth); same != nil {
			return *same
		}
	}
	return Place{Base: v}
}

// samePlace returns the place of a phi whose operands, other than nil, have one place.
func samePlace(phi *ssa.Phi, depth int) *Place {
	var same *Place
	for _, edge := range phi.Edges {
		if c, ok := edge.(*ssa.Const); ok && c.IsNil() || edge == phi {
			continue
		}
		p := placeOf(edge, depth+20) // nested phis would take exponential time
		if same != nil && *same != p {
			return nil
		}
		same = &p
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
			if c, ok := ref.Val.(*ssa.Const); ref.Addr == addr && !(ok && c.IsNil()) {
				*stored = append(*stored, ref.Val)
			}
		case *ssa.MakeClosure:
			i := slices.Index(ref.Bindings, addr)
			collectStores(ref.Fn.(*ssa.Function).FreeVars[i], stored)
		}
	}
}

// objectOf returns the API object that a value is or belongs to, and the names of the fields that lead there.
func objectOf(v ssa.Value) (object ssa.Value, fields []string) {
	for range 40 {
		if kube.IsObject(v.Type()) {
			slices.Reverse(fields)
			return v, fields
		}
		switch x := v.(type) {
		case *ssa.FieldAddr:
			fields = append(fields, fieldOf(x.X.Type(), x.Field).Name())
			v = x.X
		case *ssa.Field:
			fields = append(fields, fieldOf(x.X.Type(), x.Field).Name())
			v = x.X
		case *ssa.IndexAddr:
			fields = append(fields, "[]")
			v = x.X
		case *ssa.Slice:
			v = x.X
		case *ssa.UnOp:
			if x.Op != token.MUL {
				return nil, nil
			}
			v = x.X
			if stored := onlyValue(x.X); stored != nil {
				v = stored
			}
		default:
			inner := Unwrap(v)
			if inner == v {
				return nil, nil
			}
			v = inner
		}
	}
	return nil, nil
}

// TypeOf returns the type of the object behind a value, with interface conversions taken away as far as possible.
func TypeOf(v ssa.Value) types.Type {
	p := PlaceOf(v)
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
	if p.Path == "" {
		return p.Base.Type()
	}
	return v.Type()
}
