package audit

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"coapply.dev/cmd/kubectl-fieldowners/internal/view"
	"coapply.dev/cmd/kubectl-fieldowners/internal/watch"
	"coapply.dev/cmd/kubectl-fieldowners/lint"
	"coapply.dev/fieldowners"
	"coapply.dev/fieldowners/command"
)

// maxFound is how many findings of --for are kept.
const maxFound = 10_000

// seen keeps the fights and loops that --for finds, which no list of objects shows.
type seen struct {
	order []view.Ref
	found map[view.Ref][]lint.Finding
	count int
}

// look watches the kinds for a while, and adds what it finds to the audit, also if the context
// ends first. A kind that cannot be watched is reported as a problem, and the others are
// watched.
func (r *cluster) look(ctx context.Context, kinds []kind) error {
	timed, cancel := context.WithTimeout(ctx, r.lookFor)
	defer cancel()
	var targets []watch.Target
	for _, kind := range kinds {
		targets = append(targets, r.target(kind))
	}
	seen := seen{found: map[view.Ref][]lint.Finding{}}
	var problems []error
	var err error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		problems, err = watch.Look(timed, r.client, targets, r.ErrOut, seen.note)
	}()
	r.progress.look(r.lookFor, ended)
	if err != nil {
		return err
	}
	r.addSeen(seen, problems)
	return ctx.Err()
}

// note records a fight or a loop, each once.
func (l *seen) note(e watch.Event) {
	ref := view.Ref{APIVersion: e.APIVersion, Kind: e.Kind, Namespace: e.Namespace, Name: e.Name, UID: e.UID}
	f := lint.Finding{Rule: lint.Rule(e.Type), Message: e.Message, Remedy: "kubectl fieldowners watch " + command.Placeholder}
	for _, m := range e.Managers {
		f.Managers = append(f.Managers, fieldowners.Manager{Name: m.Name, Operation: m.Operation, Subresource: m.Subresource})
	}
	if e.Type == string(lint.RuleFight) {
		f.Paths, f.Fields = []fieldowners.Path{e.Field}, 1
	}
	same := func(known lint.Finding) bool {
		return known.Rule == f.Rule && slices.Equal(known.Managers, f.Managers) && slices.EqualFunc(known.Paths, f.Paths, fieldowners.Path.Equal)
	}
	if slices.ContainsFunc(l.found[ref], same) {
		return
	}
	if l.count++; l.count > maxFound {
		return
	}
	if l.found[ref] == nil {
		l.order = append(l.order, ref)
	}
	l.found[ref] = append(l.found[ref], f)
}

func (r *cluster) addSeen(seen seen, problems []error) {
	for _, ref := range seen.order {
		r.audit.Found(ref, seen.found[ref])
		if r.output == "name" {
			fmt.Fprintln(r.Out, ref.Resource())
		}
	}
	if seen.count > maxFound {
		problems = append(problems, fmt.Errorf("%d fights and loops, of which the first %d are shown", seen.count, maxFound))
	}
	slices.SortFunc(problems, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	for _, problem := range problems {
		r.audit.Problem(problem)
	}
}
