package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/metadata"

	"coapply.dev/cmd/kubectl-fieldowners/internal/console"
	"coapply.dev/cmd/kubectl-fieldowners/internal/owneraudit"
	"coapply.dev/fieldowners/lint"
)

// readCluster reads kind after kind. One that the server refuses is a problem, and
// the others are read; anything else ends the audit.
func (a *auditCommand) readCluster(ctx context.Context, args []string) error {
	r, kinds, err := a.newClusterAudit(args)
	if err != nil {
		return err
	}
	progress := &r.progress
	progress.kinds = len(kinds)
	if is, width := console.TerminalOf(a.ErrOut); is {
		progress.out, _ = a.ErrOut.(*console.StatusLine)
		progress.width = width
	}
	defer progress.end()
	defer r.noteRefused()
	defer collectSeldom()()
	for _, kind := range kinds {
		progress.begin(kind.String())
		err := r.read(ctx, kind)
		var status apierrors.APIStatus
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case apierrors.IsForbidden(err):
			r.refused = append(r.refused, kind.String())
			r.refusal = cmp.Or(r.refusal, err)
		case errors.As(err, &status):
			a.audit.Problem(fmt.Errorf("%s: %w", kind, err))
		case err != nil:
			return fmt.Errorf("%s: %w", kind, err)
		}
	}
	if a.lookFor == 0 {
		return nil
	}
	return r.look(ctx, slices.DeleteFunc(kinds, func(k auditKind) bool { return slices.Contains(r.refused, k.String()) }))
}

// clusterAudit reads the kinds of a cluster for an audit.
type clusterAudit struct {
	*auditCommand

	client    metadata.Interface
	namespace string
	served    servedVersions
	progress  auditProgress
	refused   []string // kinds that may not be listed
	refusal   error    // of the first
}

// noteRefused reports all kinds that may not be listed at once: an audit of all kinds
// meets many.
func (r *clusterAudit) noteRefused() {
	switch len(r.refused) {
	case 0:
	case 1:
		r.audit.Problem(fmt.Errorf("%s: %w", r.refused[0], r.refusal))
	default:
		r.audit.Problem(fmt.Errorf("%d kinds may not be listed: %s; the first: %w", len(r.refused), strings.Join(r.refused, ", "), r.refusal))
	}
}

func (a *auditCommand) newClusterAudit(args []string) (*clusterAudit, []auditKind, error) {
	r := &clusterAudit{auditCommand: a}
	config, err := a.Config.ToRESTConfig()
	if err != nil {
		return nil, nil, err
	}
	if r.client, err = newMetadataClient(config); err != nil {
		return nil, nil, err
	}
	if r.namespace, _, err = a.Namespace(); err != nil {
		return nil, nil, err
	}
	discovered, err := discover(a.Reader)
	if err != nil {
		return nil, nil, err
	}
	r.served = discovered.served
	kinds, err := auditKinds(a.Reader, args, discovered, a.AllNamespaces)
	if len(args) == 0 { // else it is not about all kinds
		for _, problem := range discovered.problems {
			a.audit.Problem(problem)
		}
	}
	return r, kinds, err
}

// target returns what of a kind the audit is about.
func (r *clusterAudit) target(kind auditKind) watchTarget {
	t := watchTarget{resource: kind.GroupVersionResource, kind: kind.kind, labelSelector: r.Labels, fieldSelector: r.Fields}
	if kind.namespaced && !r.AllNamespaces {
		t.namespace = r.namespace
	}
	return t
}

func (r *clusterAudit) read(ctx context.Context, kind auditKind) error {
	apiVersion, name := kind.kind.ToAPIVersionAndKind()
	before := r.audit.Objects()
	target := r.target(kind)
	facts := lint.Facts{Served: r.served.of(name)}
	snapshot, err := listPages(ctx, target.in(r.client), r.Selection, func(page *metav1.PartialObjectMetadataList) error {
		for _, m := range page.Items {
			r.add(owneraudit.Object{
				Ref:           owneraudit.Ref{APIVersion: apiVersion, Kind: name, Namespace: m.Namespace, Name: m.Name, UID: string(m.UID)},
				ManagedFields: m.ManagedFields,
				Facts:         facts,
			})
		}
		r.progress.page(r.audit.Objects()-before, page.RemainingItemCount)
		return ctx.Err()
	})
	listed := owneraudit.List{
		Resource: kind.String(), Namespace: target.namespace, Objects: r.audit.Objects() - before, Snapshot: snapshot && err == nil,
	}
	if err != nil {
		listed.Error = err.Error()
	}
	r.audit.Listed(listed)
	return err
}

// collectSeldom lets garbage grow to three times what is in use before it is collected,
// until the result is called. Little is in use here, and collecting would take a third
// of the time. Who sets GOGC knows better.
func collectSeldom() (back func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	before := debug.SetGCPercent(300)
	return func() { debug.SetGCPercent(before) }
}
