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

// Request describes a request of a client to a Server.
type Request struct {
	// Verb is get, list, watch, create, update, patch, apply, delete or deletecollection. A Server-Side Apply has the
	// verb apply, and other patches have the verb patch.
	Verb         string
	Resource     string // in the plural, such as deployments
	Subresource  string // status, scale or ""
	Namespace    string
	Name         string // "" for list, watch, create and deletecollection
	FieldManager string
	DryRun       bool
	Force        bool
}

// Fault says what goes wrong with some requests. The zero value changes nothing.
type Fault struct {
	// Match reports whether the Fault affects a request. If Match is nil, the Fault affects every request.
	Match func(Request) bool
	// Times is the number of requests that the Fault affects. If Times is 0, the Fault affects all requests that match.
	Times int

	// Before is called before the server handles the request. Before can block to delay the request, or write to the
	// server, like another client that writes shortly before the request. Faults also affect the requests that Before
	// sends: use Match to select the requests of one field manager.
	Before func()
	// LoseRequest means that the request does not reach the server, and that the client gets a network error.
	LoseRequest bool
	// Answer is an error that the server returns instead of handling the request. Use Answer for errors that a
	// test cannot cause otherwise, such as apierrors.NewTooManyRequests. To cause a conflict, change the object in
	// Before: the response is then that of a real server.
	Answer error
	// LoseAnswer means that the server handles the request, but that its response is lost, and the client gets a
	// network error.
	LoseAnswer bool

	met int
}

// Inject adds a Fault to the server. If several Faults match a request, only the Fault added first takes effect.
func (s *Server) Inject(fault Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, &fault)
}

// fault returns the Fault that affects a request, or the zero Fault.
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

// errLost is the network error that a client gets if its connection breaks.
var errLost = syscall.ECONNRESET

// answerWith writes an error as the response, as the API server encodes errors.
func answerWith(err error, w http.ResponseWriter, req *http.Request) {
	responsewriters.ErrorNegotiated(err, builtinCodecs, schema.GroupVersion{Version: "v1"}, w, req)
}
