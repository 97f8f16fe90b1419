// Package kube recognises Kubernetes types and client calls in SSA form. Types are matched by package path and name, so
// that the analyzers import no Kubernetes module and work with every version of client-go and controller-runtime.
package kube

import (
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// Package paths that the analyzers match.
const (
	Client         = "sigs.k8s.io/controller-runtime/pkg/client"
	ControllerUtil = "sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	Runtime        = "sigs.k8s.io/controller-runtime"
	Retry          = "k8s.io/client-go/util/retry"
	APIErrors      = "k8s.io/apimachinery/pkg/api/errors"
	Meta           = "k8s.io/apimachinery/pkg/api/meta"
	MetaV1         = "k8s.io/apimachinery/pkg/apis/meta/v1"
	Unstructured   = "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// IsNamed reports whether a type, or the type that a pointer points to, is the named type path.name.
func IsNamed(t types.Type, path, name string) bool {
	n := Named(t)
	return n != nil && n.Obj().Pkg() != nil && n.Obj().Name() == name && Path(n.Obj().Pkg()) == path
}

// Named returns the named type of a type or of the type that a pointer points to, nil if there is none.
func Named(t types.Type) *types.Named {
	t = types.Unalias(t)
	if p, ok := t.(*types.Pointer); ok {
		t = types.Unalias(p.Elem())
	}
	n, _ := t.(*types.Named)
	return n
}

// Path returns the import path of a package without the folder that vendored it.
func Path(p *types.Package) string {
	if p == nil {
		return ""
	}
	path := p.Path()
	if i := strings.LastIndex(path, "/vendor/"); i >= 0 {
		return path[i+len("/vendor/"):]
	}
	return strings.TrimPrefix(path, "vendor/")
}

// TypedObject returns the struct type of a typed API object: a named struct that embeds metav1.TypeMeta and
// metav1.ObjectMeta. It returns nil for every other type.
func TypedObject(t types.Type) *types.Named {
	n := Named(t)
	if n == nil {
		return nil
	}
	s, ok := n.Underlying().(*types.Struct)
	if !ok {
		return nil
	}
	var typeMeta, objectMeta bool
	for f := range s.Fields() {
		typeMeta = typeMeta || f.Embedded() && IsNamed(f.Type(), MetaV1, "TypeMeta")
		objectMeta = objectMeta || f.Embedded() && IsNamed(f.Type(), MetaV1, "ObjectMeta")
	}
	if !typeMeta || !objectMeta {
		return nil
	}
	return n
}

// IsObject reports whether a value of the type holds an API object: a typed one, an unstructured one, or an interface
// such as client.Object.
func IsObject(t types.Type) bool {
	return TypedObject(t) != nil || IsNamed(t, Unstructured, "Unstructured") || IsOpen(t)
}

// IsOpen reports whether the type is an interface or a type parameter that stands for an API object of any kind.
func IsOpen(t types.Type) bool {
	return types.IsInterface(t) && HasMethod(t, nil, "GetFinalizers") && HasMethod(t, nil, "SetResourceVersion")
}

// HasMethod reports whether a type, or a pointer to the type, has a method.
func HasMethod(t types.Type, pkg *types.Package, name string) bool {
	m, _, _ := types.LookupFieldOrMethod(t, !types.IsInterface(t), pkg, name)
	_, ok := m.(*types.Func)
	return ok
}

// IsBuiltIn reports whether the API server itself decodes objects of the type into a Go type. A read and a PUT of a
// built-in type spell every value alike, because the API server has already respelled what was applied.
func IsBuiltIn(n *types.Named) bool {
	path := Path(n.Obj().Pkg())
	return strings.HasPrefix(path, "k8s.io/api/") || strings.HasPrefix(path, "k8s.io/apiextensions-apiserver/") ||
		strings.HasPrefix(path, "k8s.io/kube-aggregator/")
}

// Callee returns the function or method that a call names, nil for a call of a function value. A call through a
// variable of another package that holds a function, such as ctrl.SetControllerReference, has no callee.
func Callee(c *ssa.CallCommon) *types.Func {
	if c.IsInvoke() {
		return c.Method
	}
	f := c.StaticCallee()
	if f == nil {
		return nil
	}
	if o := f.Origin(); o != nil {
		f = o
	}
	fn, _ := f.Object().(*types.Func)
	return fn
}

// Is reports whether a call names the package-level function path.name, or calls the package-level variable of that
// name.
func Is(c *ssa.CallCommon, path string, names ...string) bool {
	obj := callTarget(c)
	return obj != nil && Path(obj.Pkg()) == path && slices.Contains(names, obj.Name())
}

func callTarget(c *ssa.CallCommon) types.Object {
	if fn := Callee(c); fn != nil {
		return fn
	}
	if load, ok := c.Value.(*ssa.UnOp); ok {
		if g, ok := load.X.(*ssa.Global); ok {
			return g.Object()
		}
	}
	return nil
}
