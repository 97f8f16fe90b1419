package flow

import (
	"go/types"
	"regexp"
	"strings"

	"golang.org/x/tools/go/ssa"

	"coapply.dev/cmd/ownlint/internal/kube"
)

// Area is a set of the parts of an API object.
type Area uint16

// The parts of an API object.
const (
	Finalizers Area = 1 << iota
	Labels
	Annotations
	OwnerReferences
	OtherMeta // other metadata
	Conditions
	OtherStatus // the status without its conditions
	Spec        // everything else
)

// Metadata are the parts that controllers change on objects of others.
const Metadata = Finalizers | Labels | Annotations | OwnerReferences

// Lists are the parts that a JSON merge patch replaces as a whole.
const Lists = Finalizers | OwnerReferences | Conditions

var areaNames = []string{"finalizers", "labels", "annotations", "owner references", "other metadata", "conditions", "status", "spec"}

// String names the parts, such as "finalizers and labels".
func (a Area) String() string {
	var names []string
	for i, name := range areaNames {
		if a&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// A Change is an instruction that changes a part of an object.
type Change struct {
	Instr  ssa.Instruction
	Object ssa.Value
	Place  Place
	Area   Area
	Sure   bool     // the instruction itself changes the object, or calls a function known to do so
	Fields []string // the Go fields from the object to a stored value, nil for a call
}

// metadata maps fields of metav1.ObjectMeta to parts. Their setters are named after the fields.
var metadata = map[string]Area{
	"Finalizers": Finalizers, "Labels": Labels, "Annotations": Annotations, "OwnerReferences": OwnerReferences,
}

// areaOf returns the part of an object that Go fields lead to.
func areaOf(fields []string) Area {
	switch {
	case len(fields) == 0:
		return Spec
	case fields[0] == "TypeMeta":
		return 0
	case fields[0] == "Status" && len(fields) > 1 && fields[1] == "Conditions":
		return Conditions
	case fields[0] == "Status":
		return OtherStatus
	case fields[0] != "ObjectMeta":
		return Spec
	case len(fields) > 1 && metadata[fields[1]] != 0:
		return metadata[fields[1]]
	}
	return OtherMeta
}

// changesOf returns the changes that an instruction makes.
func (p *Package) changesOf(instr ssa.Instruction) []Change {
	switch instr := instr.(type) {
	case *ssa.Store:
		return storeChange(instr, instr.Addr)
	case *ssa.MapUpdate:
		return storeChange(instr, instr.Map)
	case ssa.CallInstruction:
		return p.callChanges(instr)
	}
	return nil
}

func storeChange(instr ssa.Instruction, addr ssa.Value) []Change {
	object, fields := objectOf(addr)
	if object == nil {
		return nil
	}
	if s, ok := instr.(*ssa.Store); ok && len(fields) == 0 && isCopy(s) {
		return nil // a variable receives its object
	}
	return []Change{{Instr: instr, Object: object, Place: PlaceOf(object), Area: areaOf(fields), Sure: true, Fields: fields}}
}

// isCopy reports whether a store initialises a variable with an object as it was read.
func isCopy(s *ssa.Store) bool {
	switch v := s.Val.(type) {
	case *ssa.UnOp, *ssa.Parameter, *ssa.Extract, *ssa.Call:
		_, variable := s.Addr.(*ssa.Alloc)
		return variable
	case *ssa.Const:
		return v.Value == nil
	}
	return false
}

// helpers are known functions that change an argument, with the index of the argument.
var helpers = []struct {
	pkg, name string
	arg       int
	area      Area
}{
	{kube.ControllerUtil, "AddFinalizer", 0, Finalizers},
	{kube.ControllerUtil, "RemoveFinalizer", 0, Finalizers},
	{kube.ControllerUtil, "SetControllerReference", 1, OwnerReferences},
	{kube.ControllerUtil, "SetOwnerReference", 1, OwnerReferences},
	{kube.ControllerUtil, "RemoveControllerReference", 1, OwnerReferences},
	{kube.ControllerUtil, "RemoveOwnerReference", 1, OwnerReferences},
	{kube.Runtime, "SetControllerReference", 1, OwnerReferences},
	{kube.MetaV1, "SetMetaDataLabel", 0, Labels},
	{kube.MetaV1, "SetMetaDataAnnotation", 0, Annotations},
	{kube.Meta, "SetStatusCondition", 0, Conditions},
	{kube.Meta, "RemoveStatusCondition", 0, Conditions},
}

var (
	readerName  = regexp.MustCompile(`^(Get|Is|Has|Should|Needs|Can|DeepCopy|Equal|Cmp|String|Value|MilliValue|AsInt64|AsDec|Sign|Format|Unix|Before|After|Sub|Find|List|Len|Key|Name|Marshal|ToUnstructured|Log|Info|Error|Print|Sprint|Event)`)
	mutatorName = regexp.MustCompile(`(?i)^(set|default|mutate|merge|sync|convert|unmarshal|decode|copy|fill|apply|update|patch|init|normali|reset|clear|add|remove|ensure)`)
)

func (p *Package) callChanges(call ssa.CallInstruction) []Change {
	c := call.Common()
	if b, ok := c.Value.(*ssa.Builtin); ok {
		if b.Name() == "delete" || b.Name() == "clear" {
			return storeChange(call, c.Args[0])
		}
		return nil
	}
	for _, h := range helpers {
		if kube.Is(c, h.pkg, h.name) && h.arg < len(c.Args) {
			return objectChange(call, c.Args[h.arg], h.area, true)
		}
	}
	if kube.RequestOf(call) != nil {
		return nil
	}
	fn := kube.Callee(c)
	if fn == nil {
		return nil
	}
	if c.IsInvoke() && kube.IsObject(c.Value.Type()) {
		return objectChange(call, c.Value, setterArea(fn.Name()), true)
	}
	if e := p.CalleeEffects(c); e != nil {
		return effectChanges(call, e)
	}
	var list []Change
	for i, arg := range c.Args {
		list = append(list, unknownChange(call, fn, i, arg)...)
	}
	return list
}

// setterArea returns the part that a method of metav1.Object or client.Object changes.
func setterArea(method string) Area {
	field, ok := strings.CutPrefix(method, "Set")
	switch {
	case !ok || method == "SetGroupVersionKind":
		return 0
	case metadata[field] != 0:
		return metadata[field]
	}
	return OtherMeta
}

func objectChange(call ssa.CallInstruction, v ssa.Value, area Area, sure bool) []Change {
	object, _ := objectOf(v)
	if object == nil || area == 0 {
		return nil
	}
	return []Change{{Instr: call, Object: object, Place: PlaceOf(object), Area: area, Sure: sure}}
}

func effectChanges(call ssa.CallInstruction, e *Effects) []Change {
	var list []Change
	for i, arg := range call.Common().Args[:min(len(call.Common().Args), len(e.Params))] {
		if object, fields := objectOf(arg); object != nil && len(fields) == 0 {
			p := e.Params[i]
			list = append(list, objectChange(call, arg, p.Sure, true)...)
			list = append(list, objectChange(call, arg, p.Changes&^p.Sure, false)...)
		}
	}
	return list
}

// unknownChange judges a call by the function's name, because the body is not known. A function is assumed to change the
// object only if its name starts like a mutator's, and to change a field whose address it takes unless its name starts like
// a reader's.
func unknownChange(call ssa.CallInstruction, fn *types.Func, i int, arg ssa.Value) []Change {
	object, fields := objectOf(arg)
	if object == nil || !isPointer(arg.Type()) && !types.IsInterface(arg.Type()) {
		return nil
	}
	receiver := i == 0 && fn.Signature().Recv() != nil && !call.Common().IsInvoke()
	if receiver && len(fields) == 1 && fields[0] == "ObjectMeta" {
		return objectChange(call, arg, setterArea(fn.Name()), true)
	}
	if readerName.MatchString(fn.Name()) {
		return nil
	}
	if _, address := arg.(*ssa.FieldAddr); address && len(fields) > 0 && fields[0] != "TypeMeta" {
		return objectChange(call, arg, areaOf(fields), false)
	}
	if mutatorName.MatchString(fn.Name()) {
		return objectChange(call, arg, Spec, false)
	}
	return nil
}
