package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"coapply.dev/cmd/kubectl-fieldowners/internal/console"
	"coapply.dev/cmd/kubectl-fieldowners/internal/objects"
	"coapply.dev/cmd/kubectl-fieldowners/internal/owneraudit"
	"coapply.dev/cmd/kubectl-fieldowners/internal/view"
	"coapply.dev/cmd/kubectl-fieldowners/lint"
)

// readCluster adds the objects of the given kinds to the audit. If the API server rejects the request for a kind, the
// audit reports a problem and continues. Any other error ends the audit.
func (a *auditor) readCluster(ctx context.Context, args []string) error {
	r, kinds, err := a.newCluster(args)
	if err != nil {
		return err
	}
	defer r.show("")
	defer r.noteRefused()
	for i, kind := range kinds {
		r.progress = fmt.Sprintf("reading %s (kind %d of %d)", view.Safe(kind.String()), i+1, len(kinds))
		r.show(r.progress)
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
	return nil
}

// cluster reads the objects of a cluster for an audit, one kind after another.
type cluster struct {
	*auditor

	discovered

	client    metadata.Interface
	namespace string
	progress  string   // the status line, which says which kind is being read
	refused   []string // the kinds that the user is not allowed to list
	refusal   error    // the API server's error for the first kind in refused
}

// noteRefused reports all kinds that the user is not allowed to list as one problem, since there may be many of them.
func (r *cluster) noteRefused() {
	if r.refusal != nil {
		r.audit.Problem(fmt.Errorf("%s: %w", strings.Join(r.refused, ", "), r.refusal))
	}
}

// show replaces the status line on stderr. It does nothing if stderr is not a terminal.
func (r *cluster) show(text string) {
	line, is := r.ErrOut.(*console.StatusLine)
	if terminal, width := console.TerminalOf(r.ErrOut); is && terminal {
		line.Show(view.CutOff(text, width-1))
	}
}

func (a *auditor) newCluster(args []string) (*cluster, []kind, error) {
	r := &cluster{auditor: a}
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
	if r.discovered, err = discover(a.Reader); err != nil {
		return nil, nil, err
	}
	kinds, err := kindsFor(a.Reader, args, r.all, a.AllNamespaces)
	if len(args) == 0 { // only an audit of all kinds needs the kinds that discovery could not list
		for _, problem := range r.problems {
			a.audit.Problem(problem)
		}
	}
	return r, kinds, err
}

// read adds the objects of a kind to the audit, page by page. If the API server no longer has the resourceVersion of
// the first page, read lists the remaining objects in their current state. The list is then not a snapshot.
func (r *cluster) read(ctx context.Context, kind kind) error {
	apiVersion, name := kind.kind.ToAPIVersionAndKind()
	facts := lint.Facts{Served: r.versions(name)}
	listed := owneraudit.List{Resource: kind.String(), Snapshot: true}
	if kind.namespaced && !r.AllNamespaces {
		listed.Namespace = r.namespace
	}
	client := r.client.Resource(kind.GroupVersionResource).Namespace(listed.Namespace)
	options := metav1.ListOptions{Limit: objects.PageSize, LabelSelector: r.Labels, FieldSelector: r.Fields}
	for {
		page, err := client.List(ctx, options)
		var status apierrors.APIStatus
		if apierrors.IsResourceExpired(err) && errors.As(err, &status) && status.Status().Continue != "" {
			listed.Snapshot, options.Continue = false, status.Status().Continue
			continue
		}
		if err != nil {
			listed.Snapshot, listed.Error = false, err.Error()
			r.audit.Listed(listed)
			return err
		}
		for _, m := range page.Items {
			r.add(owneraudit.Object{
				Ref:           view.Ref{APIVersion: apiVersion, Kind: name, Namespace: m.Namespace, Name: m.Name, UID: string(m.UID)},
				Labels:        m.Labels,
				ManagedFields: m.ManagedFields,
				Facts:         facts,
			})
		}
		listed.Objects += len(page.Items)
		r.show(fmt.Sprintf("%s: %d objects", r.progress, listed.Objects))
		if options.Continue = page.Continue; options.Continue == "" {
			r.audit.Listed(listed)
			return nil
		}
	}
}

// newMetadataClient returns a client that requests only the metadata of objects. By default, a metadata.Interface also
// accepts whole objects from an API server that does not support metadata requests. Whole objects contain the values of
// Secrets.
func newMetadataClient(config *rest.Config) (metadata.Interface, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1 // no client-side rate limit: there are at most two requests at a time
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return onlyMetadata{next} })
	return metadata.NewForConfig(config)
}

type onlyMetadata struct{ next http.RoundTripper }

func (o onlyMetadata) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	request.Header.Set("Accept", strings.TrimSuffix(request.Header.Get("Accept"), ",application/json"))
	return o.next.RoundTrip(request)
}
