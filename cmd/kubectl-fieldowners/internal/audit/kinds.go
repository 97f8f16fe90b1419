package audit

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"coapply.dev/cmd/kubectl-fieldowners/internal/objects"
)

// kind is a kind to read.
type kind struct {
	schema.GroupVersionResource

	kind       schema.GroupVersionKind
	namespaced bool
}

func (k kind) String() string { return k.GroupResource().String() }

// discovered is what the server serves.
type discovered struct {
	all      []kind          // that can be listed and patched, in order
	served   map[string]bool // by apiVersion/Kind
	failed   map[string]bool // the apiVersions whose kinds are not known
	problems []error         // why they are not known
}

// versions returns a function that reports for a kind whether a version is served, and whether that is known.
func (d discovered) versions(kind string) func(apiVersion string) (served, known bool) {
	return func(apiVersion string) (served, known bool) {
		return d.served[apiVersion+"/"+kind], !d.failed[apiVersion]
	}
}

// discover asks the server, not a cache, which may have kinds that are no longer served.
func discover(r *objects.Reader) (discovered, error) {
	client, err := r.Config.ToDiscoveryClient()
	if err != nil {
		return discovered{}, err
	}
	client.Invalidate()
	d := discovered{served: map[string]bool{}, failed: map[string]bool{}}
	_, all, err := client.ServerGroupsAndResources()
	if failed := (*discovery.ErrGroupDiscoveryFailed)(nil); errors.As(err, &failed) {
		for group, why := range failed.Groups {
			d.failed[group.String()] = true
			d.problems = append(d.problems, fmt.Errorf("the kinds of %s are not known: %w", group, why))
		}
		slices.SortFunc(d.problems, func(a, b error) int { return cmp.Compare(a.Error(), b.Error()) })
	} else if err != nil {
		return d, err
	}
	for _, list := range all {
		for _, r := range list.APIResources {
			d.served[list.GroupVersion+"/"+r.Kind] = true
		}
	}
	preferred, err := client.ServerPreferredResources()
	if len(preferred) == 0 && err != nil {
		return d, err
	}
	for _, list := range discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list", "patch"}}, preferred) {
		version, _ := schema.ParseGroupVersion(list.GroupVersion) // as all that a server has
		for _, r := range list.APIResources {
			d.all = append(d.all, kind{version.WithResource(r.Name), version.WithKind(r.Kind), r.Namespaced})
		}
	}
	slices.SortFunc(d.all, func(a, b kind) int { return cmp.Compare(a.String(), b.String()) })
	return d, nil
}

// kindsFor returns the kinds that the arguments name, or all that an audit of a
// namespace or of a cluster is about: events are left out, which are written once,
// are gone soon, and are served twice.
func kindsFor(r *objects.Reader, args []string, all []kind, allNamespaces bool) ([]kind, error) {
	if len(args) == 0 {
		return slices.DeleteFunc(slices.Clone(all), func(k kind) bool {
			return k.Resource == "events" || !k.namespaced && !allNamespaces
		}), nil
	}
	var kinds []kind
	for arg := range strings.SplitSeq(strings.Join(args, ","), ",") {
		mapping, err := r.Mapping(arg)
		if err != nil {
			return nil, err
		}
		kind := kind{mapping.Resource, mapping.GroupVersionKind, mapping.Scope.Name() == meta.RESTScopeNameNamespace}
		if !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	return kinds, nil
}
