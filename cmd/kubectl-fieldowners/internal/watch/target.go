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

	"coapply.dev/cmd/kubectl-fieldowners/internal/ownerview"
)

// Target is what one watch shows: the objects of a type, or one of them.
type Target struct {
	Resource        schema.GroupVersionResource
	Kind            schema.GroupVersionKind
	Namespace, Name string // "" is all
	Labels, Fields  string // selectors
}

// targets reads arguments as kubectl get does. Nothing but discovery is asked for.
func (w *command) targets(args []string) ([]Target, error) {
	named, err := resource.HasNames(args)
	if err != nil {
		return nil, err
	}
	if named {
		return w.namedTargets(args)
	}
	types, err := w.types(args[0])
	if err != nil {
		return nil, err
	}
	var targets []Target
	for _, one := range types {
		builder, namespace, err := w.builder(one)
		if err != nil {
			return nil, err
		}
		mapping, err := builder.Do().ResourceMapping()
		if err != nil {
			return nil, err
		}
		if w.AllNamespaces || mapping.Scope.Name() == meta.RESTScopeNameRoot {
			namespace = ""
		}
		targets = add(targets, w.target(mapping, namespace, ""))
	}
	return targets, nil
}

// types takes apart "deployments,services", and "all".
func (w *command) types(arg string) ([]string, error) {
	builder, _, err := w.builder()
	if err != nil {
		return nil, err
	}
	// Without a server it is empty: that is said when the type is asked for.
	return resource.SplitResourceArgument(cmp.Or(builder.ReplaceAliases(arg), arg)), nil
}

func (w *command) namedTargets(args []string) ([]Target, error) {
	builder, _, err := w.builder(args...)
	if err != nil {
		return nil, err
	}
	infos, err := builder.RequireObject(false).Do().Infos()
	if err != nil {
		return nil, err
	}
	var targets []Target
	for _, info := range infos {
		targets = add(targets, w.target(info.Mapping, info.Namespace, info.Name))
	}
	return targets, nil
}

func (w *command) builder(args ...string) (builder *resource.Builder, namespace string, err error) {
	namespace, _, err = w.Namespace()
	if err != nil {
		return nil, "", err
	}
	if builder, err = w.Builder(w.Selection); err != nil {
		return nil, "", err
	}
	return builder.ResourceTypeOrNameArgs(true, args...), namespace, nil
}

func (w *command) target(mapping *meta.RESTMapping, namespace, name string) Target {
	return Target{
		Resource: mapping.Resource, Kind: mapping.GroupVersionKind, Namespace: namespace, Name: name,
		Labels: w.Labels, Fields: w.Fields,
	}
}

// add leaves out what is named twice: each move is shown once.
func add(targets []Target, target Target) []Target {
	if slices.Contains(targets, target) {
		return targets
	}
	return append(targets, target)
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

// String names the target in sentences.
func (t Target) String() string {
	text := t.Resource.GroupResource().String()
	if t.Name != "" {
		text += "/" + t.Name
	}
	if t.Namespace != "" {
		text += " in namespace " + t.Namespace
	}
	return ownerview.Safe(text)
}

// object names one object of the target in sentences.
func (t Target) object(w watched) string {
	return (&ownerview.Object{GroupVersionKind: t.Kind, Namespace: w.namespace, Name: w.name}).String()
}
