package applytest

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Answer is returned to a call instead of the wrapped client's answer, in the form in which it
// arrives from an API server. The comment of each function that returns an Answer names the
// class that apply has for it.
//
// An Answer fits only calls to which a server can give it. A fault whose Call names no verb
// passes over other calls; Inject refuses one that names a verb which never gets the answer.
// What only the call itself shows, such as whether it carries a uid, is checked when the fault
// is due: a call that does not fit fails the test, or with Always is passed over.
type Answer struct {
	name     string
	only     []Verb                // the verbs that a server answers so; empty for all
	unforced bool                  // a forced apply never gets the answer
	lands    bool                  // the call goes through, and its answer is lost
	unfit    func(made call) error // returns why no server gives the answer to a call; nil if it fits
	give     func(ctx context.Context, made call) error
	invalid  error // of building the answer; Inject reports it
}

// String returns the name of the function that makes the answer.
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

// fromServer returns an answer of the API server.
func fromServer(name string, only []Verb, give func(call) *apierrors.StatusError) Answer {
	return Answer{name: name, only: only, give: func(_ context.Context, made call) error { return give(made) }}
}
