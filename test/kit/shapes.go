package kit

import (
	"strconv"

	"coapply.dev/apply"
)

// AllDecisions are the decisions of a policy.
var AllDecisions = []apply.Decision{apply.Reject, apply.Force, apply.Relinquish, apply.Share}

// FreeKeyShape returns the shape of a field in a map without a schema.
func FreeKeyShape(key string) Shape {
	path := ".spec.free[" + strconv.Quote(key) + "]"
	return Shape{
		Reason: "the server leaves keys unquoted",
		Kind:   "Shape",
		Theirs: `{spec: {free: {` + strconv.Quote(key) + `: theirs}}}`,
		Ours:   `{spec: {free: {` + strconv.Quote(key) + `: ours, mine: x}}}`,
		Path:   path, ServerPath: ".spec.free." + key, Want: "ours", Have: "theirs",
		Whole: []string{".spec.free.mine"}, Rest: []string{".spec.free.mine"},
	}
}

// Shape is one form in which two managers may disagree about a field. Objects are
// written as YAML without apiVersion, kind and name.
type Shape struct {
	Reason      string
	Kind        string
	Subresource string // that theirs and ours are written through
	Theirs      string // what the other owner sets
	Ours        string // our intent: the field, and something that nobody disputes
	Path        string // the field in dispute
	ServerPath  string // as the server names it; "" is path
	Want, Have  any    // our value, theirs

	// The leaves that we own when all of the intent landed, without the field in
	// dispute, and those that we own when the field was left out.
	Whole, Rest []string
}
