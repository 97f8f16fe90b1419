package main

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/resource"
)

// selection says which objects of the cluster a command reads.
type selection struct {
	selector, fieldSelector string
	allNamespaces           bool
}

const pageSize = 500

// readCluster reads the objects that arguments name as they do for kubectl get. It
// goes on after one that cannot be read, and returns all errors.
func (p *plugin) readCluster(args []string, s selection, each func(object map[string]any) error) error {
	namespace, _, err := p.config.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return err
	}
	result := resource.NewBuilder(p.config).
		Unstructured().
		NamespaceParam(namespace).DefaultNamespace().AllNamespaces(s.allNamespaces).
		LabelSelectorParam(s.selector).FieldSelectorParam(s.fieldSelector).
		RequestChunksOf(pageSize).
		ResourceTypeOrNameArgs(true, args...).
		ContinueOnError().Flatten().
		Do()
	return result.Visit(func(info *resource.Info, err error) error {
		if err != nil {
			return err
		}
		return each(info.Object.(*unstructured.Unstructured).Object)
	})
}
