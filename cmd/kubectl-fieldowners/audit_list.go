package main

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
)

// metadataClient lists the metadata of objects, whatever their kind.
//
// It asks for nothing else: metadata.Interface would take whole objects from a server
// that cannot give metadata alone, and so values of Secrets.
type metadataClient struct {
	rest rest.Interface
}

const acceptMetadata = "application/json;as=" + metadataListKind + ";g=meta.k8s.io;v=v1"

func newMetadataClient(config *rest.Config) (*metadataClient, error) {
	config = metadata.ConfigFor(config)
	config.GroupVersion = &schema.GroupVersion{}
	config.APIPath = "/unused"
	config.QPS = -1 // one request at a time
	client, err := rest.RESTClientFor(config)
	return &metadataClient{rest: client}, err
}

// listing is one kind on its way.
type listing struct {
	resource  schema.GroupVersionResource
	namespace string // "" is all
	selection

	each func(metadataItem) error
	page func(metav1.ListMeta) // called behind each page
}

// list reads all pages. snapshot is false where a page came too late for the server
// to know the moment of the first one: then it went on with the objects behind those
// that were read, as they are now.
func (c *metadataClient) list(ctx context.Context, l listing) (snapshot bool, err error) {
	snapshot = true
	options := metav1.ListOptions{Limit: pageSize, LabelSelector: l.selector, FieldSelector: l.fieldSelector}
	for {
		meta, err := c.read(ctx, l, options)
		if late := tokenBehind(err); late != "" && late != options.Continue {
			snapshot, options.Continue = false, late
			continue
		}
		if err != nil {
			return snapshot, err
		}
		l.page(meta)
		if options.Continue = meta.Continue; options.Continue == "" {
			return snapshot, nil
		}
	}
}

func (c *metadataClient) read(ctx context.Context, l listing, options metav1.ListOptions) (metav1.ListMeta, error) {
	body, err := c.rest.Get().
		AbsPath(pathOf(l.resource, l.namespace)...).
		SetHeader("Accept", acceptMetadata).
		SpecificallyVersionedParams(&options, metav1.ParameterCodec, schema.GroupVersion{Version: "v1"}).
		Stream(ctx)
	if err != nil {
		return metav1.ListMeta{}, err
	}
	defer body.Close()
	return readPage(body, l.each)
}

func pathOf(r schema.GroupVersionResource, namespace string) []string {
	path := []string{"apis", r.Group, r.Version}
	if r.Group == "" {
		path = []string{"api", r.Version}
	}
	if namespace != "" {
		path = append(path, "namespaces", namespace)
	}
	return append(path, r.Resource)
}

// tokenBehind gives the token by which the server offers to go on when the one of
// the page before has expired.
func tokenBehind(err error) string {
	var status apierrors.APIStatus
	if !apierrors.IsResourceExpired(err) || !errors.As(err, &status) {
		return ""
	}
	return status.Status().Continue
}
