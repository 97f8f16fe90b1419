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
	if is, width := terminalOf(a.ErrOut); is {
		progress.out, _ = a.ErrOut.(*statusLine)
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

	client    *metadataClient
	namespace string
	served    servedVersions
	progress  auditProgress
	refused   []string // kinds that may not be listed
	refusal   error    // of the first
}

// noteRefused tells of all kinds that may not be listed at once: an audit of all kinds
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
	config, err := a.config.ToRESTConfig()
	if err != nil {
		return nil, nil, err
	}
	if r.client, err = newMetadataClient(config); err != nil {
		return nil, nil, err
	}
	if r.namespace, _, err = a.config.ToRawKubeConfigLoader().Namespace(); err != nil {
		return nil, nil, err
	}
	discovered, err := a.discover()
	if err != nil {
		return nil, nil, err
	}
	r.served = discovered.served
	kinds, err := a.auditKinds(args, discovered, a.allNamespaces)
	if len(args) == 0 { // else it is not about all kinds
		for _, problem := range discovered.problems {
			a.audit.Problem(problem)
		}
	}
	return r, kinds, err
}

func (r *clusterAudit) read(ctx context.Context, kind auditKind) error {
	apiVersion, name := kind.kind.ToAPIVersionAndKind()
	before := r.audit.Objects()
	l := listing{resource: kind.GroupVersionResource, selection: r.selection}
	if kind.namespaced && !r.allNamespaces {
		l.namespace = r.namespace
	}
	facts := lint.Facts{Served: r.served.of(name)}
	l.each = func(item metadataItem) error {
		m := item.Metadata
		r.add(owneraudit.Object{
			Ref:           owneraudit.Ref{APIVersion: apiVersion, Kind: name, Namespace: m.Namespace, Name: m.Name, UID: m.UID},
			ManagedFields: m.ManagedFields,
			Facts:         facts,
		})
		return ctx.Err()
	}
	l.page = func(meta metav1.ListMeta) { r.progress.page(r.audit.Objects()-before, meta.RemainingItemCount) }
	snapshot, err := r.client.list(ctx, l)
	listed := owneraudit.List{
		Resource: kind.String(), Namespace: l.namespace, Objects: r.audit.Objects() - before, Snapshot: snapshot && err == nil,
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
