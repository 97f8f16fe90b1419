package coapply

import (
	"net/http"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestWatchedSeesInformers: a request shows an informer by its path and its Accept header, as
// client-go's clients for types, metadata and unstructured objects send it.
func TestWatchedSeesInformers(t *testing.T) {
	core := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	for _, c := range []struct {
		reason, url, accept string
		resource            schema.GroupVersionResource
		want                []representation
	}{
		{
			"a typed watch", "/api/v1/configmaps?watch=true", "application/vnd.kubernetes.protobuf,application/json",
			core, []representation{typed},
		},
		{
			"a typed watch of a custom resource, below a prefix", "/proxy/apis/shop.example.com/v1/shops?watch=true", "application/json, */*",
			schema.GroupVersionResource{Group: "shop.example.com", Version: "v1", Resource: "shops"}, []representation{typed},
		},
		{
			"a metadata watch of one namespace", "/api/v1/namespaces/shop/configmaps?watch=true",
			"application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json", core, []representation{metadataOnly},
		},
		{
			"the list before a metadata watch", "/api/v1/configmaps?resourceVersion=0",
			"application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json", core, []representation{metadataOnly},
		},
		{"an unstructured watch", "/api/v1/configmaps?watch=true", "application/json", core, []representation{asUnstructured}},
		{"an unstructured watch with CBOR", "/api/v1/configmaps?watch=true", "application/json;q=0.9,application/cbor;q=1", core, []representation{asUnstructured}},
		{"a watch of Namespaces", "/api/v1/namespaces?watch=true", "application/json, */*", schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}, []representation{typed}},
		{"a list without a watch", "/api/v1/configmaps?limit=500", "application/json", core, nil},
		{"a read", "/api/v1/namespaces/shop/configmaps/page", "application/json", core, nil},
		{"no API", "/livez/ping?watch=true", "application/json", core, nil},
	} {
		t.Run(c.reason, func(t *testing.T) {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://server"+c.url, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Accept", c.accept)
			w := newWatched()
			w.see(request)
			w.see(request)
			var want []informer
			for _, as := range c.want {
				want = append(want, informer{version: c.resource.Version, as: as})
			}
			if got := w.requested[c.resource.GroupResource()]; !slices.Equal(got, want) {
				t.Errorf("%v: %v, want %v", c.resource, got, want)
			}
		})
	}
}
