package rules

import (
	"strings"

	"golang.org/x/tools/go/ssa"

	"coapply.dev/cmd/ownlint/internal/flow"
	"coapply.dev/cmd/ownlint/internal/kube"
)

// CacheWrite reports changes of objects that belong to a cache.
var CacheWrite = newRule("cache-write", "report changes of cached objects that were not copied", cacheWrite)

func cacheWrite(c *checker) {
	for _, fn := range c.Functions {
		uncopied := c.uncopiedLists(fn)
		for _, change := range c.Body(fn).Changes {
			if !change.Sure {
				continue
			}
			source := ""
			if call := sourceCall(change.Place.Base); call != nil && isCacheRead(call) {
				source = kube.Callee(call.Common()).Name()
			}
			for _, list := range uncopied {
				if change.Place.Base == list.Base && strings.HasPrefix(change.Place.Path, list.Path+".Items") {
					source = "List with UnsafeDisableDeepCopy"
				}
			}
			if source != "" {
				c.report(change.Instr, nil, "the object that %s returned belongs to the cache, so every reader of the cache sees the changed %s "+
					"although the API server does not have the change; change a DeepCopy of the object", source, change.Area)
			}
		}
	}
}

// sourceCall returns the call that returned a value.
func sourceCall(v ssa.Value) *ssa.Call {
	if e, ok := v.(*ssa.Extract); ok {
		v = e.Tuple
	}
	call, _ := v.(*ssa.Call)
	return call
}

// isCacheRead reports whether a call is a method of a generated lister or of an informer's store.
func isCacheRead(call *ssa.Call) bool {
	fn := kube.Callee(call.Common())
	if fn == nil || fn.Signature().Recv() == nil {
		return false
	}
	path := kube.Path(fn.Pkg())
	switch fn.Name() {
	case "Get", "List":
		if strings.Contains(path, "/listers/") || strings.HasSuffix(path, "/listers") {
			return true
		}
	case "GetByKey", "ByIndex":
	default:
		return false
	}
	return path == "k8s.io/client-go/tools/cache"
}

// uncopiedLists returns the lists that a function reads with client.UnsafeDisableDeepCopy.
func (c *checker) uncopiedLists(fn *ssa.Function) []flow.Place {
	var lists []flow.Place
	for _, req := range c.Body(fn).Requests {
		if req.Verb != kube.List || req.Object == nil {
			continue
		}
		for _, option := range elements(req.Options) {
			if isGlobal(option, kube.Client, "UnsafeDisableDeepCopy") || kube.IsNamed(flow.Unwrap(option).Type(), kube.Client, "UnsafeDisableDeepCopyOption") {
				lists = append(lists, flow.PlaceOf(req.Object))
			}
		}
	}
	return lists
}
