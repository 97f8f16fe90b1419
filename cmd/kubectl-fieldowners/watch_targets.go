package main

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

// watchTarget is what one watch shows: the objects of a type, or one of them.
type watchTarget struct {
	resource                     schema.GroupVersionResource
	kind                         schema.GroupVersionKind
	namespace, name              string // "" is all
	labelSelector, fieldSelector string
}

// targets reads arguments as kubectl get does. Nothing but discovery is asked for.
func (w *watchCommand) targets(args []string) ([]watchTarget, error) {
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
	var targets []watchTarget
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
		targets = append(targets, w.target(mapping, namespace, ""))
	}
	return unique(targets), nil
}

// types takes apart "deployments,services", and "all".
func (w *watchCommand) types(arg string) ([]string, error) {
	builder, _, err := w.builder()
	if err != nil {
		return nil, err
	}
	// Without a server it is empty: that is said when the type is asked for.
	return resource.SplitResourceArgument(cmp.Or(builder.ReplaceAliases(arg), arg)), nil
}

func (w *watchCommand) namedTargets(args []string) ([]watchTarget, error) {
	builder, _, err := w.builder(args...)
	if err != nil {
		return nil, err
	}
	infos, err := builder.RequireObject(false).Do().Infos()
	if err != nil {
		return nil, err
	}
	var targets []watchTarget
	for _, info := range infos {
		targets = append(targets, w.target(info.Mapping, info.Namespace, info.Name))
	}
	return unique(targets), nil
}

func (w *watchCommand) builder(args ...string) (builder *resource.Builder, namespace string, err error) {
	namespace, _, err = w.Namespace()
	if err != nil {
		return nil, "", err
	}
	if builder, err = w.Builder(w.Selection); err != nil {
		return nil, "", err
	}
	return builder.ResourceTypeOrNameArgs(true, args...), namespace, nil
}

func (w *watchCommand) target(mapping *meta.RESTMapping, namespace, name string) watchTarget {
	return watchTarget{
		resource: mapping.Resource, kind: mapping.GroupVersionKind, namespace: namespace, name: name,
		labelSelector: w.Labels, fieldSelector: w.Fields,
	}
}

// unique drops what is named twice: each move is shown once.
func unique(targets []watchTarget) []watchTarget {
	var found []watchTarget
	for _, target := range targets {
		if !slices.Contains(found, target) {
			found = append(found, target)
		}
	}
	return found
}

func (t watchTarget) in(client metadata.Interface) metadata.ResourceInterface {
	return client.Resource(t.resource).Namespace(t.namespace)
}

func (t watchTarget) options(o metav1.ListOptions) metav1.ListOptions {
	o.LabelSelector, o.FieldSelector = t.labelSelector, t.fieldSelector
	if t.name != "" {
		o.FieldSelector = fieldselector.OneTermEqualSelector(metav1.ObjectNameField, t.name).String()
	}
	return o
}

// String names the target in sentences.
func (t watchTarget) String() string {
	text := t.resource.GroupResource().String()
	if t.name != "" {
		text += "/" + t.name
	}
	if t.namespace != "" {
		text += " in namespace " + t.namespace
	}
	return ownerview.Safe(text)
}

// object names one object of the target in sentences.
func (t watchTarget) object(w watched) string {
	return (&ownerview.Object{GroupVersionKind: t.kind, Namespace: w.namespace, Name: w.name}).String()
}
