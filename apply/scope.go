package apply

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// checkRef refuses a reference that names no object of the server: an IntentError.
func checkRef(c client.Client, object ObjectRef) error {
	var lacks []string
	for _, part := range []struct{ name, value string }{
		{"version", object.Version}, {"kind", object.Kind}, {"name", object.Name},
	} {
		if part.value == "" {
			lacks = append(lacks, part.name)
		}
	}
	switch {
	case len(lacks) > 0:
		return &IntentError{Object: object, Err: fmt.Errorf("the reference to the object lacks its %s", strings.Join(lacks, " and "))}
	case len(content.IsPathSegmentName(object.Name)) > 0 || len(content.IsPathSegmentName(object.Namespace)) > 0:
		return &IntentError{Object: object, Err: fmt.Errorf("name %q in namespace %q cannot be part of a URL", object.Name, object.Namespace)}
	}
	return checkScope(c, object)
}

// checkScope holds that the object has a namespace exactly if its kind is
// namespaced: an IntentError. Of a kind that the client does not know the request
// itself tells.
func checkScope(c client.Client, object ObjectRef) error {
	namespaced, err := c.IsObjectNamespaced(newObject(object.GroupVersionKind, object))
	known := err == nil
	switch {
	case known && namespaced && object.Namespace == "":
		return &IntentError{Object: object, Err: errors.New("a namespace is needed: " + object.Kind + " is namespaced")}
	case known && !namespaced && object.Namespace != "":
		return &IntentError{Object: object, Err: fmt.Errorf("it has a namespace, %q: %s is not namespaced", object.Namespace, object.Kind)}
	}
	return nil
}
