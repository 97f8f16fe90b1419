package watch

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	fieldselector "k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/metadata"

	"coapply.dev/cmd/kubectl-fieldowners/internal/view"
)

// Target is what one watch shows: the objects of a type, or one of them.
type Target struct {
	Resource        schema.GroupVersionResource
	Kind            schema.GroupVersionKind
	Namespace, Name string // "" for all
	Labels, Fields  string // selectors
}

// targets returns the targets that arguments name, as for kubectl get, each type or object
// once. It needs only discovery.
func (w *command) targets(args []string) (targets []Target, err error) {
	add := func(mapping *meta.RESTMapping, namespace, name string) {
		target := Target{mapping.Resource, mapping.GroupVersionKind, namespace, name, w.Labels, w.Fields}
		if !slices.Contains(targets, target) {
			targets = append(targets, target)
		}
	}
	named, err := resource.HasNames(args)
	if err != nil {
		return nil, err
	}
	builder, err := w.Builder(w.Selection)
	if err != nil {
		return nil, err
	}
	if named {
		infos, err := builder.ResourceTypeOrNameArgs(true, args...).RequireObject(false).Do().Infos()
		for _, info := range infos {
			add(info.Mapping, info.Namespace, info.Name)
		}
		return targets, err
	}
	// Without a server there are no aliases such as "all": asking for the type returns that error.
	for _, one := range resource.SplitResourceArgument(cmp.Or(builder.ReplaceAliases(args[0]), args[0])) {
		mapping, namespace, err := w.kind(one)
		if err != nil {
			return nil, err
		}
		add(mapping, namespace, "")
	}
	return targets, nil
}

// kind returns the mapping of a type, and the namespace of its objects.
func (w *command) kind(name string) (mapping *meta.RESTMapping, namespace string, err error) {
	mapping, err = w.Mapping(name)
	if err != nil || w.AllNamespaces || mapping.Scope.Name() == meta.RESTScopeNameRoot {
		return mapping, "", err
	}
	namespace, _, err = w.Namespace()
	return mapping, namespace, err
}

// In returns a client for the objects.
func (t Target) In(client metadata.Interface) metadata.ResourceInterface {
	return client.Resource(t.Resource).Namespace(t.Namespace)
}

func (t Target) options(o metav1.ListOptions) metav1.ListOptions {
	o.LabelSelector, o.FieldSelector = t.Labels, t.Fields
	if t.Name != "" {
		o.FieldSelector = fieldselector.OneTermEqualSelector(metav1.ObjectNameField, t.Name).String()
	}
	return o
}

// String returns the name of the target in sentences.
func (t Target) String() string {
	text := t.Resource.GroupResource().String()
	if t.Name != "" {
		text += "/" + t.Name
	}
	if t.Namespace != "" {
		text += " in namespace " + t.Namespace
	}
	return view.Safe(text)
}

// object returns the name of one object of the target in sentences.
func (t Target) object(w watched) string {
	return view.Ref{Kind: t.Kind.Kind, Namespace: w.namespace, Name: w.name}.String()
}
