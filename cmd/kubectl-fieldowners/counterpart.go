package main

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"
)

// counterpart reads the live object of a kind, namespace and name that stand in a
// file; nil if there is none. Without a namespace that of the command line is meant.
func (p *plugin) counterpart(kind schema.GroupVersionKind, own, name string) (map[string]any, error) {
	namespace, enforce, err := p.config.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return nil, err
	}
	if own != "" {
		if enforce && own != namespace {
			return nil, fmt.Errorf("the namespace from the file, %q, is not that of the command line, %q", own, namespace)
		}
		namespace = own
	}
	infos, err := resource.NewBuilder(p.config).
		Unstructured().
		NamespaceParam(namespace).DefaultNamespace().
		ResourceNames(kind.Kind+"."+kind.Version+"."+kind.Group, name).
		Do().Infos()
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, err
	case len(infos) != 1:
		return nil, fmt.Errorf("%d objects of kind %s and name %s", len(infos), kind.Kind, name)
	}
	return infos[0].Object.(*unstructured.Unstructured).Object, nil
}
