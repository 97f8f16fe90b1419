package applytest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Verb says what a request does: the verbs of RBAC, with apply kept apart from
// patch.
type Verb string

// The verbs. VerbOther is a request about no resource, such as discovery.
const (
	VerbGet              Verb = "get"
	VerbList             Verb = "list"
	VerbWatch            Verb = "watch"
	VerbCreate           Verb = "create"
	VerbUpdate           Verb = "update"
	VerbPatch            Verb = "patch"
	VerbApply            Verb = "apply"
	VerbDelete           Verb = "delete"
	VerbDeleteCollection Verb = "deletecollection"
	VerbOther            Verb = "other"
)

// Request is one HTTP request that was answered or failed. In a query for Recorder.Count empty
// fields match everything, and a Resource without a dot matches any group: "deployments"
// matches "deployments.apps".
type Request struct {
	Verb         Verb
	Resource     string // plural, with its group: "deployments.apps", "pods"
	Namespace    string
	Name         string
	Subresource  string
	FieldManager string // as the request named it
	DryRun       bool
	Forced       bool
	Class        Class // of the answer
}

// matches reports whether the request matches a query.
func (r Request) matches(query Request) bool {
	return (query.Verb == "" || query.Verb == r.Verb) &&
		r.isOf(query.Resource) &&
		(query.Namespace == "" || query.Namespace == r.Namespace) &&
		(query.Name == "" || query.Name == r.Name) &&
		(query.Subresource == "" || query.Subresource == r.Subresource) &&
		(query.FieldManager == "" || query.FieldManager == r.FieldManager) &&
		(!query.DryRun || r.DryRun) && (!query.Forced || r.Forced) &&
		(query.Class == "" || query.Class == r.Class)
}

func (r Request) isOf(resource string) bool {
	plain, _, _ := strings.Cut(r.Resource, ".")
	return resource == "" || resource == r.Resource || resource == plain
}

// validate returns an error for a query that no request can match.
func (r Request) validate() error {
	verbs := append(slices.Clone(callVerbs), VerbWatch, VerbOther)
	switch {
	case r.Verb != "" && !slices.Contains(verbs, r.Verb):
		return fmt.Errorf("Verb: %q is none of %q", r.Verb, verbs)
	case r.Class != "" && !slices.Contains(classes, r.Class):
		return fmt.Errorf("Class: %q is none of %q", r.Class, classes)
	case strings.Contains(r.Resource, "/"):
		return fmt.Errorf("Resource: %q has a slash; want a plural with its group, such as deployments.apps, and Subresource apart", r.Resource)
	case r.Resource != strings.ToLower(r.Resource):
		return fmt.Errorf("Resource: %q is no resource; want the plural in small letters, such as deployments.apps", r.Resource)
	}
	return nil
}

// describe returns a Request without the class of its answer.
func describe(request *http.Request) Request {
	var r Request
	rest := r.locate(request.URL.Path)
	if len(rest) > 0 {
		r.Verb = verbOf(request, r.Name != "")
	} else {
		r.Verb = VerbOther
	}
	query := request.URL.Query()
	r.FieldManager = query.Get("fieldManager")
	r.Forced = query.Get("force") == "true"
	r.DryRun = slices.Contains(query["dryRun"], metav1.DryRunAll) || request.Method == http.MethodDelete && deletesDry(request)
	return r
}

// locate sets what the URL names and returns the parts behind version and namespace: /api/v1/…
// or /apis/GROUP/VERSION/…, below any path at which the server is reached.
func (r *Request) locate(path string) []string {
	parts := strings.FieldsFunc(path, func(c rune) bool { return c == '/' })
	start := slices.IndexFunc(parts, func(part string) bool { return part == "api" || part == "apis" })
	if start < 0 {
		return nil
	}
	var group string
	version := start + 1
	if parts[start] == "apis" && len(parts) > version {
		group = parts[version]
		version++
	}
	if len(parts) <= version+1 {
		return nil
	}
	rest := parts[version+1:]
	if rest[0] == "namespaces" && len(rest) > 2 && rest[2] != "status" && rest[2] != "finalize" {
		r.Namespace, rest = rest[1], rest[2:]
	}
	r.Resource = schema.GroupResource{Group: group, Resource: rest[0]}.String()
	if len(rest) > 1 {
		r.Name = rest[1]
	}
	if len(rest) > 2 {
		r.Subresource = rest[2]
	}
	return rest
}

func verbOf(request *http.Request, named bool) Verb {
	switch request.Method {
	case http.MethodGet, http.MethodHead:
		watch := request.URL.Query().Get("watch")
		switch {
		case watch == "true" || watch == "1":
			return VerbWatch
		case named:
			return VerbGet
		}
		return VerbList
	case http.MethodPost:
		return VerbCreate
	case http.MethodPut:
		return VerbUpdate
	case http.MethodPatch:
		return verbOfPatch(types.PatchType(request.Header.Get("Content-Type")))
	case http.MethodDelete:
		if named {
			return VerbDelete
		}
		return VerbDeleteCollection
	}
	return VerbOther
}

// deletesDry reports whether a deletion is a dry run, by a copy of the body, in which
// controller-runtime's client puts the options. A body that cannot be read has none.
func deletesDry(request *http.Request) bool {
	if request.GetBody == nil {
		return false
	}
	body, err := request.GetBody()
	if err != nil {
		return false
	}
	defer body.Close()
	raw, _ := io.ReadAll(body)
	var options metav1.DeleteOptions
	if wrapped, ok := bytes.CutPrefix(raw, []byte("k8s\x00")); ok {
		var unknown runtime.Unknown
		_ = unknown.Unmarshal(wrapped)
		_ = options.Unmarshal(unknown.Raw)
	} else {
		_ = json.Unmarshal(raw, &options)
	}
	return slices.Contains(options.DryRun, metav1.DryRunAll)
}
