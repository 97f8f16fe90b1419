package workloads

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"coapply.dev/compare"
)

// domain is the domain of all labels and annotations that workloads write.
const domain = "compare.coapply.dev/"

// ownPrefix is the beginning of the names of annotations that belong to one writer or one manager.
const ownPrefix = domain + "by-"

func ownAnnotation(i int) string { return fmt.Sprintf("%s%02d", ownPrefix, i) }

// uniqueValue returns a value that no other intent of the trial has.
func uniqueValue(writer, sequence int) string { return fmt.Sprintf("w%d-%d", writer, sequence) }

// ownAnnotations returns the annotations of an object that belong to writers or managers.
func ownAnnotations(o *unstructured.Unstructured) map[string]string {
	fields := map[string]string{}
	for name, value := range o.GetAnnotations() {
		if strings.HasPrefix(name, ownPrefix) {
			fields[name] = value
		}
	}
	return fields
}

// inTrial adds the prefix of the trial to a name, so that no other trial has an object with this name.
func inTrial(stage compare.Stage, name string) string {
	return strings.TrimSuffix(stage.Prefix, "-") + "-" + name
}

// configured returns a function for Intent.Configure. The returned function calls modify with an empty object, and
// returns the fields that modify has set.
func configured(modify func(*unstructured.Unstructured) error) func(*unstructured.Unstructured) map[string]any {
	return func(*unstructured.Unstructured) map[string]any {
		o := unstructured.Unstructured{Object: map[string]any{}}
		_ = modify(&o) // cannot fail: an empty object has no fields of a wrong type
		return o.Object
	}
}
