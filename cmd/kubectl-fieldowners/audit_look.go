package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"coapply.dev/cmd/kubectl-fieldowners/internal/owneraudit"
	"coapply.dev/fieldowners"
	"coapply.dev/fieldowners/command"
	"coapply.dev/fieldowners/fights"
	"coapply.dev/fieldowners/lint"
)

// maxFound bounds how many findings are kept of what --for sees.
const maxFound = 10_000

// auditLook watches the kinds of an audit for a while: fights and loops are in no list.
type auditLook struct {
	*clusterAudit

	order    []owneraudit.Ref
	found    map[owneraudit.Ref][]lint.Finding
	count    int
	problems []error
	mu       sync.Mutex // of problems; the rest is written under the lock of the report
}

// look adds what it sees to the audit, also where the context ends first.
func (r *clusterAudit) look(ctx context.Context, kinds []auditKind) error {
	l := &auditLook{clusterAudit: r, found: map[owneraudit.Ref][]lint.Finding{}}
	report, err := l.report()
	if err != nil {
		return err
	}
	timed, cancel := context.WithTimeout(ctx, r.lookFor)
	defer cancel()
	l.follow(timed, kinds, report)
	l.add()
	return ctx.Err()
}

func (l *auditLook) report() (*watchReport, error) {
	detector, err := fights.New(fightsPerMinute)
	if err != nil {
		return nil, err
	}
	loops, err := newLoops()
	return &watchReport{errOut: l.ErrOut, onlyFights: true, fights: detector, loops: loops, found: l.note}, err
}

// follow watches until the time is over. A kind that cannot be watched is a problem, and
// the others are watched. It leaves no goroutine behind.
func (l *auditLook) follow(ctx context.Context, kinds []auditKind, report *watchReport) {
	var all sync.WaitGroup
	for _, kind := range kinds {
		target := l.target(kind)
		f := &follower{watchTarget: target, client: target.in(l.client), report: report, sparse: true}
		all.Go(func() {
			if err := f.follow(ctx); ctx.Err() == nil {
				l.problem(fmt.Errorf("%s cannot be watched: %w", f, err))
			} else if f.behind != nil {
				l.problem(f.behind)
			}
		})
	}
	ended := make(chan struct{})
	go func() { all.Wait(); close(ended) }()
	second := time.NewTicker(time.Second)
	defer second.Stop()
	for end := time.Now().Add(l.lookFor); ; {
		l.progress.looking(time.Until(end))
		select {
		case <-ended:
			return
		case <-second.C:
		}
	}
}

func (l *auditLook) problem(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.problems = append(l.problems, err)
}

// note keeps a fight or a loop, each once.
func (l *auditLook) note(e watchEvent) {
	ref := owneraudit.Ref{APIVersion: e.APIVersion, Kind: e.Kind, Namespace: e.Namespace, Name: e.Name, UID: e.UID}
	f := lint.Finding{Rule: lint.Rule(e.Type), Message: e.message, Remedy: "kubectl fieldowners watch " + command.Placeholder}
	for _, m := range e.Managers {
		f.Managers = append(f.Managers, fieldowners.Manager{Name: m.Name, Operation: m.Operation, Subresource: m.Subresource})
	}
	if e.Type == string(lint.RuleFight) {
		f.Paths, f.Fields = []fieldowners.Path{e.path}, 1
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

func (l *auditLook) add() {
	for _, ref := range l.order {
		l.audit.Found(ref, l.found[ref])
		if l.output == "name" {
			fmt.Fprintln(l.Out, resourceOf(ref))
		}
	}
	if l.count > maxFound {
		l.problem(fmt.Errorf("%d fights and loops, of which the first %d are shown", l.count, maxFound))
	}
	slices.SortFunc(l.problems, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	for _, problem := range l.problems {
		l.audit.Problem(problem)
	}
}
