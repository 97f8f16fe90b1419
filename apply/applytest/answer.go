package applytest

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Answer is what a call gets instead of the wrapped client's answer, in the form in which it
// arrives from an API server. Each function that returns one names the class that apply has for
// it.
//
// An Answer fits only calls to which a server can give it. A fault whose Call names no verb
// passes over the others, and one that names a verb which never gets the answer is refused.
// What only the call itself shows, such as whether it carries a uid, is checked when the fault
// is due: it then fails the test, or with Always passes over the call.
type Answer struct {
	name     string
	only     []Verb                // those that a server gives it to; none: all
	unforced bool                  // it is for no forced apply
	lands    bool                  // the call goes through, and its answer is lost
	unfit    func(made call) error // says why no server gives it to this call; nil: it fits
	give     func(ctx context.Context, made call) error
	invalid  error // of building it; Inject reports it
}

// String returns the name of the function that makes it.
func (a Answer) String() string { return a.name }

func (a Answer) fits(made Call) bool {
	return (len(a.only) == 0 || slices.Contains(a.only, made.Verb)) && (!a.unforced || !made.Forced)
}

var (
	writes    = []Verb{VerbCreate, VerbUpdate, VerbPatch, VerbApply, VerbDelete, VerbDeleteCollection}
	withABody = []Verb{VerbCreate, VerbUpdate, VerbPatch, VerbApply}
	pinnable  = []Verb{VerbUpdate, VerbPatch, VerbApply, VerbDelete}
	creating  = []Verb{VerbCreate, VerbApply}
)

// fromServer is an answer of the API server.
func fromServer(name string, only []Verb, give func(call) *apierrors.StatusError) Answer {
	return Answer{name: name, only: only, give: func(_ context.Context, made call) error { return give(made) }}
}
