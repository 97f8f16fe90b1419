package applytest

import (
	"net/http"
	"slices"
	"syscall"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// Request is a request of a client to a Server.
type Request struct {
	// Verb is get, list, watch, create, update, patch, apply, delete or deletecollection. It is apply for a Server-Side Apply, and patch for other patches.
	Verb         string
	Resource     string // in plural, such as deployments
	Subresource  string // status, scale or ""
	Namespace    string
	Name         string // "" for list, watch, create and deletecollection
	FieldManager string
	DryRun       bool
	Force        bool
}

// Fault is what goes wrong with a request. The zero value does nothing.
type Fault struct {
	// Match reports whether the Fault is for a request. nil: for every request.
	Match func(Request) bool
	// Times is the number of requests that meet the Fault. 0: all that match.
	Times int

	// Before is called before the server handles the request. It can write to the server, so that another client's write comes first, or wait.
	// Requests that Before sends meet faults, too: let Match select the requests of one field manager.
	Before func()
	// LoseRequest: the server does not see the request, and the client gets a network error.
	LoseRequest bool
	// Answer is the server's answer, and the server does nothing. It is for refusals that a test cannot cause, such as
	// apierrors.NewTooManyRequests. A conflict is better caused, by a write in Before: then the answer is one that a server gives.
	Answer error
	// LoseAnswer: the server handles the request, and the client gets a network error.
	LoseAnswer bool

	met int
}

// Inject adds a Fault to the server. A request meets the first Fault that matches.
func (s *Server) Inject(fault Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, &fault)
}

// fault returns the fault of a request, or an empty one.
func (s *Server) fault(req *http.Request) Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.faults) == 0 {
		return Fault{}
	}
	at := requestOf(req)
	for i, fault := range s.faults {
		if fault.Match != nil && !fault.Match(at) {
			continue
		}
		if fault.met++; fault.met == fault.Times {
			s.faults = slices.Delete(s.faults, i, i+1)
		}
		return *fault
	}
	return Fault{}
}

func requestOf(req *http.Request) Request {
	info, err := requestInfo.NewRequestInfo(req)
	if err != nil {
		return Request{}
	}
	query := req.URL.Query()
	at := Request{
		Verb: info.Verb, Resource: info.Resource, Subresource: info.Subresource, Namespace: info.Namespace, Name: info.Name,
		FieldManager: query.Get("fieldManager"), DryRun: query.Get("dryRun") != "", Force: query.Get("force") == "true",
	}
	if kind := types.PatchType(req.Header.Get("Content-Type")); kind == types.ApplyYAMLPatchType || kind == types.ApplyCBORPatchType {
		at.Verb = "apply"
	}
	return at
}

var requestInfo = &request.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")}

// errLost is what a client sees of a connection that breaks.
var errLost = syscall.ECONNRESET

// answerWith answers with an error as the server encodes it.
func answerWith(err error, w http.ResponseWriter, req *http.Request) {
	responsewriters.ErrorNegotiated(err, builtinCodecs, schema.GroupVersion{Version: "v1"}, w, req)
}
