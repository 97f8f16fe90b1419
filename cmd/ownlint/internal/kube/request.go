package kube

import (
	"go/types"

	"golang.org/x/tools/go/ssa"
)

// Verb is what a request asks of the API server.
type Verb string

// The verbs of requests. Status verbs write a subresource.
const (
	Get          Verb = "get"
	List         Verb = "list"
	Create       Verb = "create"
	Update       Verb = "update"
	Patch        Verb = "patch"
	Apply        Verb = "apply"
	StatusUpdate Verb = "status update"
	StatusPatch  Verb = "status patch"
)

// Request is a call of a Kubernetes client: controller-runtime's client.Client or a generated clientset.
type Request struct {
	Call    ssa.CallInstruction
	Verb    Verb
	Object  ssa.Value // the object or list in the body or decoded into; nil if the object is a result
	Patch   ssa.Value // the client.Patch of a patch
	Options ssa.Value // the variadic options of a controller-runtime client, the options struct of a clientset
}

// controllerRuntime maps the option types of controller-runtime's client to the verb and the index of the object among the arguments.
var controllerRuntime = map[string]struct {
	verb   Verb
	method string
	object int
}{
	"GetOption":               {Get, "Get", 2},
	"ListOption":              {List, "List", 1},
	"CreateOption":            {Create, "Create", 1},
	"UpdateOption":            {Update, "Update", 1},
	"PatchOption":             {Patch, "Patch", 1},
	"ApplyOption":             {Apply, "Apply", 1},
	"SubResourceUpdateOption": {StatusUpdate, "Update", 1},
	"SubResourcePatchOption":  {StatusPatch, "Patch", 1},
}

// clientset maps the methods of generated clientsets to the verb and the type of the last argument.
var clientset = map[string]struct {
	verb    Verb
	options string
}{
	"Get":          {Get, "GetOptions"},
	"List":         {List, "ListOptions"},
	"Create":       {Create, "CreateOptions"},
	"Update":       {Update, "UpdateOptions"},
	"Apply":        {Apply, "ApplyOptions"},
	"UpdateStatus": {StatusUpdate, "UpdateOptions"},
}

// RequestOf returns the request that a call sends, nil if the call is no method of a Kubernetes client. Methods are
// recognised by their name and the type of their options, so that interfaces that narrow client.Client count too.
func RequestOf(call ssa.CallInstruction) *Request {
	c := call.Common()
	fn := Callee(c)
	if fn == nil || fn.Signature().Recv() == nil || fn.Signature().Params().Len() < 2 {
		return nil
	}
	args, params := c.Args, fn.Signature().Params()
	if len(args) == params.Len()+1 {
		args = args[1:] // the receiver, which interface calls and method values do not pass
	}
	last := params.At(params.Len() - 1).Type()
	req := &Request{Call: call, Options: args[len(args)-1]}
	if slice, ok := last.(*types.Slice); ok && fn.Signature().Variadic() {
		n := Named(slice.Elem())
		if n == nil || Path(n.Obj().Pkg()) != Client {
			return nil
		}
		known, ok := controllerRuntime[n.Obj().Name()]
		if !ok || known.method != fn.Name() || known.object >= len(args) {
			return nil
		}
		req.Verb, req.Object = known.verb, args[known.object]
		if known.method == "Patch" && len(args) > 2 {
			req.Patch = args[2]
		}
		return req
	}
	known, ok := clientset[fn.Name()]
	if !ok || !IsNamed(last, MetaV1, known.options) || len(args) < 2 {
		return nil
	}
	req.Verb = known.verb
	switch known.verb {
	case Update, StatusUpdate, Create, Apply:
		req.Object = args[1]
	}
	return req
}
