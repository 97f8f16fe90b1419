package objects

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"coapply.dev/internal/nearest"
)

// KindMapping returns the mapping of a kind. The error of a kind that the API server does not
// have names the nearest one.
func (r *Reader) KindMapping(kind schema.GroupVersionKind) (*meta.RESTMapping, error) {
	mapper, err := r.Config.ToRESTMapper()
	if err != nil {
		return nil, err
	}
	mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if meta.IsNoMatchError(err) {
		return nil, fmt.Errorf("the API server has no kind %s in %s%s; if its CRD is not installed yet, install it first",
			kind.Kind, kind.GroupVersion(), r.meantKind(kind))
	}
	return mapping, err
}

// meantKind returns the question which kind was meant; "" if none is near.
func (r *Reader) meantKind(kind schema.GroupVersionKind) string {
	client, err := r.Config.ToDiscoveryClient()
	if err != nil {
		return ""
	}
	_, lists, _ := client.ServerGroupsAndResources() // those that can be read are enough for a hint
	versions := map[string][]string{}
	for _, list := range lists {
		for _, resource := range list.APIResources {
			versions[resource.Kind] = append(versions[resource.Kind], list.GroupVersion)
		}
	}
	near := nearest.Names(kind.Kind, slices.Sorted(maps.Keys(versions)))
	if len(near) == 0 {
		return ""
	}
	return fmt.Sprintf(" (did you mean %s in %s?)", near[0], versions[near[0]][0])
}
