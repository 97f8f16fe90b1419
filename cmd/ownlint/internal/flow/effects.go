package flow

import (
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"

	"coapply.dev/cmd/ownlint/internal/kube"
)

// Effects is the fact of a function that changes or writes its arguments, or that retries.
type Effects struct {
	Params  []Effect // the receiver first
	Retries bool     // the function retries conflicts
	Hides   bool     // the function formats the error of a write without %w and returns the result
}

// Effect is what a function does with one argument.
type Effect struct {
	Changes Area
	Sure    Area // the part of Changes that the function makes itself, or by functions that are known to make it
	Reads   bool // the function reads the object from the API server or the cache
	Updates bool // the function sends the whole object
	Written Area // what the function changes before it sends the whole object
	Open    bool // the parameter takes objects of any kind
}

// AFact marks Effects as a fact.
func (*Effects) AFact() {}

func (e *Effects) any() bool {
	for _, p := range e.Params {
		if p.Changes != 0 || p.Updates || p.Reads {
			return true
		}
	}
	return e.Retries || e.Hides
}

// CalleeEffects returns the effects of the function that a call names, nil if the function is not known.
func (p *Package) CalleeEffects(c *ssa.CallCommon) *Effects {
	f := c.StaticCallee()
	if f == nil {
		return nil
	}
	if o := f.Origin(); o != nil {
		f = o
	}
	if len(f.Blocks) > 0 {
		return p.effectsOf(f)
	}
	var fact Effects
	if fn, ok := f.Object().(*types.Func); ok && fn.Pkg() != p.pass.Pkg && p.pass.ImportObjectFact(fn.Origin(), &fact) {
		return &fact
	}
	return nil
}

// effectsOf computes the effects of a function of this package. A recursive call counts as one without effects.
func (p *Package) effectsOf(fn *ssa.Function) *Effects {
	if e, ok := p.effects[fn]; ok {
		return e
	}
	e := &Effects{Params: make([]Effect, len(fn.Params))}
	p.effects[fn] = e
	for i, param := range fn.Params {
		e.Params[i].Open = kube.IsOpen(param.Type())
	}
	for _, f := range WithLiterals(fn) {
		b := p.Body(f)
		e.Retries = e.Retries || slices.ContainsFunc(b.Retries, func(r Retry) bool { return r.Conflicts })
		for _, c := range b.Changes {
			if i := paramOf(fn, c.Place); i >= 0 {
				e.Params[i].Changes |= c.Area
				if c.Sure {
					e.Params[i].Sure |= c.Area
				}
			}
		}
		for _, r := range b.reads {
			if i := paramOf(fn, r.place); i >= 0 {
				e.Params[i].Reads = true
			}
		}
		for _, w := range b.Writes {
			if i := paramOf(fn, w.Place); i >= 0 && w.Verb == kube.Update {
				e.Params[i].Updates = true
				e.Params[i].Written |= p.ChangedBefore(w)
			}
		}
	}
	e.Hides = p.hidesConflict(fn)
	return e
}

func paramOf(fn *ssa.Function, place Place) int {
	for i, param := range fn.Params {
		if place.Base == param && place.Path == "" {
			return i
		}
	}
	return -1
}

// hidesConflict reports whether a function returns a write's error formatted without %w.
func (p *Package) hidesConflict(fn *ssa.Function) bool {
	for _, w := range p.Body(fn).Writes {
		if p.HiddenBy(w) != nil {
			return true
		}
	}
	return false
}
