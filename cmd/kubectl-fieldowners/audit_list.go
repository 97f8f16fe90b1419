package main

import (
	"context"
	"errors"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"coapply.dev/cmd/kubectl-fieldowners/internal/objects"
)

// newMetadataClient returns a client that asks for metadata and for nothing else. By itself
// metadata.Interface would take whole objects from a server that cannot give metadata
// alone, and so values of Secrets.
func newMetadataClient(config *rest.Config) (metadata.Interface, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1 // a request or two at a time
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return onlyMetadata{next} })
	return metadata.NewForConfig(config)
}

type onlyMetadata struct{ next http.RoundTripper }

func (o onlyMetadata) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	request.Header.Set("Accept", strings.TrimSuffix(request.Header.Get("Accept"), ",application/json"))
	return o.next.RoundTrip(request)
}

// listPages reads all pages. snapshot is false where a page came too late for the server
// to know the moment of the first one: then it went on with the objects behind those
// that were read, as they are now.
func listPages(ctx context.Context, client metadata.ResourceInterface, s objects.Selection, each func(*metav1.PartialObjectMetadataList) error) (snapshot bool, err error) {
	snapshot = true
	options := metav1.ListOptions{Limit: objects.PageSize, LabelSelector: s.Labels, FieldSelector: s.Fields}
	for {
		page, err := client.List(ctx, options)
		if late := tokenBehind(err); late != "" && late != options.Continue {
			snapshot, options.Continue = false, late
			continue
		}
		if err == nil {
			err = each(page)
		}
		if err != nil {
			return snapshot, err
		}
		if options.Continue = page.Continue; options.Continue == "" {
			return snapshot, nil
		}
	}
}

// tokenBehind returns the token by which the server offers to go on when the one of
// the page before has expired.
func tokenBehind(err error) string {
	var status apierrors.APIStatus
	if !apierrors.IsResourceExpired(err) || !errors.As(err, &status) {
		return ""
	}
	return status.Status().Continue
}
