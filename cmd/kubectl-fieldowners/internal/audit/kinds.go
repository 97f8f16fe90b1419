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

// kind describes a type that the API server serves.
type kind struct {
	schema.GroupVersionResource

	kind       schema.GroupVersionKind
	namespaced bool
}

func (k kind) String() string { return k.GroupResource().String() }

// discovered is the result of API discovery: the kinds and versions that the API server serves.
type discovered struct {
	all      []kind          // the kinds that can be listed and patched, in alphabetical order
	served   map[string]bool // the served kinds, by apiVersion/Kind
	failed   map[string]bool // the apiVersions whose discovery failed
	problems []error         // the errors of the failed discovery
}

// versions returns a function for lint.Facts.Served. The function reports whether the API server serves
// the given kind in an apiVersion, and whether the discovery of that apiVersion succeeded.
func (d discovered) versions(kind string) func(apiVersion string) (served, known bool) {
	return func(apiVersion string) (served, known bool) {
		return d.served[apiVersion+"/"+kind], !d.failed[apiVersion]
	}
}

// discover returns the kinds that the API server serves. It does not use kubectl's discovery cache,
// which may have kinds that are no longer served.
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
			d.problems = append(d.problems, fmt.Errorf("discovering the kinds of %s: %w", group, why))
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
		version, _ := schema.ParseGroupVersion(list.GroupVersion) // the API server returns only valid group versions
		for _, r := range list.APIResources {
			d.all = append(d.all, kind{version.WithResource(r.Name), version.WithKind(r.Kind), r.Namespaced})
		}
	}
	slices.SortFunc(d.all, func(a, b kind) int { return cmp.Compare(a.String(), b.String()) })
	return d, nil
}

// kindsFor returns the kinds named by the arguments, each kind once. Without arguments, it returns all kinds except
// events; for an audit of one namespace, only the namespaced kinds. Events are excluded because an event is written
// once, expires soon, and is served by two API groups.
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
