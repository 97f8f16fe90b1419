package flow

import (
	"slices"

	"golang.org/x/tools/go/ssa"

	"coapply.dev/cmd/ownlint/internal/kube"
)

// A Write is a call that sends an object or a patch, directly or through a function that sends its argument whole.
type Write struct {
	Call    ssa.CallInstruction
	Verb    kube.Verb
	Object  ssa.Value
	Place   Place
	Request *kube.Request // nil if a function sends the object
	Through *Effect       // the effect of the function on the object, nil for a request
}

// Body holds what the instructions of one function do, without the function literals in it.
type Body struct {
	Changes  []Change
	Writes   []Write
	Requests []*kube.Request
	Retries  []Retry
	reads    []read
}

type read struct {
	instr ssa.Instruction
	place Place
}

// A Retry is a call of retry.RetryOnConflict or of retry.OnError, with the function that each attempt calls.
type Retry struct {
	Call    ssa.CallInstruction
	Attempt *ssa.Function // nil if the function is not a literal or a named function of this package

	Conflicts bool // the retry repeats conflicts
}

// retriesConflicts reports whether a retry repeats conflicts: retry.RetryOnConflict, or retry.OnError with
// errors.IsConflict.
func retriesConflicts(call ssa.CallInstruction) bool {
	args := call.Common().Args
	if kube.Is(call.Common(), kube.Retry, "RetryOnConflict") {
		return true
	}
	predicate, ok := Unwrap(args[1]).(*ssa.Function)
	return ok && predicate.Name() == "IsConflict" && predicate.Pkg != nil && kube.Path(predicate.Pkg.Pkg) == kube.APIErrors
}

// Body returns the body of a function.
func (p *Package) Body(fn *ssa.Function) *Body {
	if b, ok := p.bodies[fn]; ok {
		return b
	}
	b := &Body{}
	p.bodies[fn] = b
	for _, block := range fn.Blocks {
		for _, instr := range block.Instrs {
			b.Changes = append(b.Changes, p.changesOf(instr)...)
			if call, ok := instr.(ssa.CallInstruction); ok {
				p.call(b, call)
			}
		}
	}
	return b
}

// call records what a call sends and reads.
func (p *Package) call(b *Body, call ssa.CallInstruction) {
	c := call.Common()
	if kube.Is(c, kube.Retry, "RetryOnConflict", "OnError") {
		b.Retries = append(b.Retries, Retry{Call: call, Attempt: functionOf(c.Args[len(c.Args)-1]), Conflicts: retriesConflicts(call)})
		return
	}
	if req := kube.RequestOf(call); req != nil {
		b.Requests = append(b.Requests, req)
		switch {
		case req.Object == nil || req.Verb == kube.List || req.Verb == kube.Create:
		case req.Verb == kube.Get:
			b.read(call, req.Object)
		default:
			b.Writes = append(b.Writes, Write{Call: call, Verb: req.Verb, Object: req.Object, Place: PlaceOf(req.Object), Request: req})
		}
		return
	}
	e := p.CalleeEffects(c)
	if e == nil {
		return
	}
	for i, arg := range c.Args {
		object, fields := objectOf(arg)
		if i >= len(e.Params) || object == nil || len(fields) > 0 {
			continue
		}
		if e.Params[i].Reads {
			b.read(call, arg)
		}
		if e.Params[i].Updates {
			b.Writes = append(b.Writes, Write{Call: call, Verb: kube.Update, Object: arg, Place: PlaceOf(arg), Through: &e.Params[i]})
		}
	}
}

func (b *Body) read(instr ssa.Instruction, object ssa.Value) {
	b.reads = append(b.reads, read{instr, PlaceOf(object)})
}

func functionOf(v ssa.Value) *ssa.Function {
	switch v := v.(type) {
	case *ssa.MakeClosure:
		return v.Fn.(*ssa.Function)
	case *ssa.Function:
		return v
	case *ssa.ChangeType:
		return functionOf(v.X)
	}
	return nil
}

// ReadIn reports whether a function or a literal in it reads the object at a place.
func (p *Package) ReadIn(fn *ssa.Function, place Place) bool {
	for _, f := range WithLiterals(fn) {
		if slices.ContainsFunc(p.Body(f).reads, func(r read) bool { return r.place == place }) {
			return true
		}
	}
	return false
}

// ReadsOf returns the instructions that read the written object in the function of the write.
func (p *Package) ReadsOf(w Write) []ssa.Instruction {
	var list []ssa.Instruction
	for _, r := range p.Body(w.Call.Parent()).reads {
		if r.place == w.Place {
			list = append(list, r.instr)
		}
	}
	return list
}

// WasRead reports whether the function of an instruction, or a function around it, reads the place before the
// instruction.
func (p *Package) WasRead(instr ssa.Instruction, place Place) bool {
	for fn := instr.Parent(); fn != nil; fn = fn.Parent() {
		for _, r := range p.Body(fn).reads {
			if r.place == place && Reaches(r.instr, instr) {
				return true
			}
		}
	}
	return false
}

// ChangesBefore returns the changes of the written object that can come before the write. A change that a read of the
// object replaces does not count.
func (p *Package) ChangesBefore(w Write) []Change {
	var list []Change
	outer := w.Call.Parent()
	for outer.Parent() != nil {
		outer = outer.Parent()
	}
	for _, fn := range WithLiterals(outer) {
		for _, c := range p.Body(fn).Changes {
			if c.Place == w.Place && c.Instr != w.Call && Reaches(c.Instr, w.Call) && !p.replaced(c.Instr, w) {
				list = append(list, c)
			}
		}
	}
	return list
}

// ChangedBefore returns the parts of the written object that are changed before the write, or by the function that
// writes.
func (p *Package) ChangedBefore(w Write) Area {
	var area Area
	for _, c := range p.ChangesBefore(w) {
		area |= c.Area
	}
	if w.Through != nil {
		area |= w.Through.Written
	}
	return area
}

// replaced reports whether the object is read between a change and a write, on every path to the write.
func (p *Package) replaced(change ssa.Instruction, w Write) bool {
	for _, r := range p.Body(w.Call.Parent()).reads {
		if r.place == w.Place && Dominates(r.instr, w.Call) && !Reaches(r.instr, change) {
			return true
		}
	}
	return false
}

// within reports whether control can flow from one instruction of a function to another.
func within(from, to ssa.Instruction) bool {
	if from.Block() == to.Block() && slices.Index(from.Block().Instrs, from) < slices.Index(to.Block().Instrs, to) {
		return true
	}
	seen := make(map[*ssa.BasicBlock]bool)
	queue := slices.Clone(from.Block().Succs)
	for len(queue) > 0 {
		b := queue[0]
		queue = queue[1:]
		if b == to.Block() {
			return true
		}
		if !seen[b] {
			seen[b] = true
			queue = append(queue, b.Succs...)
		}
	}
	return false
}

// Dominates reports whether every path to an instruction passes another one first.
func Dominates(first, then ssa.Instruction) bool {
	if first.Parent() != then.Parent() {
		return false
	}
	if first.Block() == then.Block() {
		return slices.Index(first.Block().Instrs, first) < slices.Index(then.Block().Instrs, then)
	}
	return first.Block().Dominates(then.Block())
}

// Reaches reports whether control can flow from one instruction to the other, also between a function and its literals. A
// literal is assumed to run where it is created. If neither function encloses the other, Reaches returns true.
func Reaches(from, to ssa.Instruction) bool {
	for fn := to.Parent(); fn != nil; fn = fn.Parent() {
		if fn == from.Parent() {
			return within(from, lift(to, fn))
		}
	}
	for fn := from.Parent(); fn != nil; fn = fn.Parent() {
		if fn == to.Parent() {
			return within(lift(from, fn), to)
		}
	}
	return true
}

// lift returns the instruction of an enclosing function that makes the literal which holds an instruction.
func lift(instr ssa.Instruction, outer *ssa.Function) ssa.Instruction {
	for instr.Parent() != outer {
		mc := closureOf(instr.Parent())
		if mc == nil {
			return outer.Blocks[0].Instrs[0]
		}
		instr = mc
	}
	return instr
}
