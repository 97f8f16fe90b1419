package check

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"coapply.dev/fieldowners"
)

var namespacePath = fieldowners.MustParsePath(".metadata.namespace")

// lookForNamespaces completes the namespace of each object that would be created, and refuses
// the object if its namespace neither exists nor is in the files.
func (c *command) lookForNamespaces(items []result) error {
	if c.asksServer() || len(c.live) > 0 {
		return nil
	}
	exists := map[string]bool{"": true}
	for _, item := range items {
		if item.APIVersion == "v1" && item.Kind == "Namespace" {
			exists[item.Name] = true
		}
	}
	for i := range items {
		if !items[i].Creates {
			continue
		}
		namespace, err := c.namespaceOf(schema.FromAPIVersionAndKind(items[i].APIVersion, items[i].Kind), items[i].Namespace)
		if _, asked := exists[namespace]; err == nil && !asked {
			exists[namespace], err = c.namespaceExists(namespace)
		}
		if err != nil {
			return err
		}
		if items[i].Namespace = namespace; !exists[namespace] {
			items[i].refuse(namespacePath, fmt.Sprintf("there is no namespace %q", namespace))
		}
	}
	return nil
}

// namespaceOf returns the namespace of an object: its own, or else that of the command line, or
// "" for a kind without namespaces.
func (c *command) namespaceOf(kind schema.GroupVersionKind, own string) (string, error) {
	mapping, err := c.KindMapping(kind)
	if err != nil || mapping.Scope.Name() != meta.RESTScopeNameNamespace || own != "" {
		return own, err
	}
	namespace, _, err := c.Namespace()
	return namespace, err
}

// namespaceExists returns true as well if the namespace may not be read.
func (c *command) namespaceExists(name string) (bool, error) {
	found, err := c.Counterpart(corev1.SchemeGroupVersion.WithKind("Namespace"), "", name)
	if apierrors.IsForbidden(err) {
		return true, nil
	}
	return found != nil, err
}
