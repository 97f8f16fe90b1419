package flow

import (
	"go/constant"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"

	"coapply.dev/cmd/ownlint/internal/kube"
)

// ErrorOf returns the error that a call returns, nil if the caller discards the error.
func ErrorOf(call ssa.CallInstruction) ssa.Value {
	v := call.Value()
	if v == nil {
		return nil
	}
	tuple, ok := v.Type().(*types.Tuple)
	if !ok {
		return v
	}
	for _, ref := range *v.Referrers() {
		if e, ok := ref.(*ssa.Extract); ok && e.Index == tuple.Len()-1 {
			return e
		}
	}
	return nil
}

// HiddenBy returns the fmt.Errorf call that formats the error of a write without %w, and whose result the function
// returns.
func (p *Package) HiddenBy(w Write) ssa.CallInstruction {
	var found ssa.CallInstruction
	follow(ErrorOf(w.Call), func(instr ssa.Instruction) {
		call, ok := instr.(*ssa.Call)
		if ok && kube.Is(call.Common(), "fmt", "Errorf") && returned(call) {
			if format, ok := call.Call.Args[0].(*ssa.Const); ok && format.Value != nil &&
				!strings.Contains(constant.StringVal(format.Value), "%w") {
				found = call
			}
		}
	})
	return found
}

// returned reports whether a value flows into a return.
func returned(v ssa.Value) bool {
	found := false
	follow(v, func(instr ssa.Instruction) {
		_, ok := instr.(*ssa.Return)
		found = found || ok
	})
	return found
}

// Escapes reports whether a value flows to a place that the function does not control: a return, a call, a variable of
// another function or a field. A comparison is no such place.
func Escapes(v ssa.Value) bool {
	found := false
	follow(v, func(instr ssa.Instruction) {
		switch instr := instr.(type) {
		case *ssa.Return, *ssa.Panic, *ssa.Send, *ssa.MapUpdate:
			found = true
		case ssa.CallInstruction:
			found = found || !isLogging(instr.Common())
		case *ssa.Store:
			_, local := target(instr.Addr).(*ssa.Alloc)
			found = found || !local
		}
	})
	return found
}

var logging = []string{"github.com/go-logr/logr", "k8s.io/klog", "log/slog", "log", "go.uber.org/zap", "k8s.io/client-go/tools/record", "k8s.io/client-go/tools/events"}

// isLogging reports whether a call writes a log line or an event.
func isLogging(c *ssa.CallCommon) bool {
	fn := kube.Callee(c)
	return fn != nil && slices.ContainsFunc(logging, func(pkg string) bool {
		return strings.HasPrefix(kube.Path(fn.Pkg())+"/", pkg+"/")
	})
}

// follow visits the instructions that use a value, also after conversions, phis, local variables and the arrays of
// variadic arguments.
func follow(start ssa.Value, visit func(ssa.Instruction)) {
	seen := make(map[ssa.Value]bool)
	queue := []ssa.Value{start}
	for len(queue) > 0 {
		v := queue[0]
		queue = queue[1:]
		if v == nil || seen[v] || v.Referrers() == nil {
			continue
		}
		seen[v] = true
		for _, ref := range *v.Referrers() {
			visit(ref)
			switch ref := ref.(type) {
			case *ssa.Phi, *ssa.MakeInterface, *ssa.ChangeInterface, *ssa.ChangeType, *ssa.TypeAssert, *ssa.Slice, *ssa.UnOp:
				queue = append(queue, ref.(ssa.Value))
			case *ssa.Store:
				if ref.Val == v {
					queue = append(queue, target(ref.Addr))
				}
			}
		}
	}
}

// target returns the variable or the array that an address belongs to.
func target(addr ssa.Value) ssa.Value {
	if i, ok := addr.(*ssa.IndexAddr); ok {
		return i.X
	}
	return addr
}
