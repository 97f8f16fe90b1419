package kit

import (
	"strconv"

	"coapply.dev/apply"
)

// AllDecisions are the decisions of a policy.
var AllDecisions = []apply.Decision{apply.Reject, apply.Force, apply.Relinquish, apply.Share}

// FreeKeyShape returns the Shape for a key of the map spec.free, which has no schema.
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

// Shape describes a conflict of two managers over one sort of field. Objects are written as YAML without apiVersion,
// kind and name.
type Shape struct {
	Reason      string
	Kind        string
	Subresource string // through which both managers write
	Theirs      string // what the other owner sets
	Ours        string // our intent: the field, and a field without a conflict
	Path        string // the field in dispute
	ServerPath  string // as the server names it; "" is path
	Want, Have  any    // our value, theirs

	// Whole are the leaves, except the field in dispute, that we own after the whole intent was applied. Rest are the
	// leaves that we own after the intent was applied without the field in dispute.
	Whole, Rest []string
}
