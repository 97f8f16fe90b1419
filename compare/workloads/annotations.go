package workloads

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"coapply.dev/compare"
)

// domain of the labels and annotations that the workloads write.
const domain = "compare.coapply.dev/"

// ownPrefix begins the names of annotations that belong to one writer or manager.
const ownPrefix = domain + "by-"

func ownAnnotation(i int) string { return fmt.Sprintf("%s%02d", ownPrefix, i) }

// uniqueValue is unique within a trial.
func uniqueValue(writer, sequence int) string { return fmt.Sprintf("w%d-%d", writer, sequence) }

// ownAnnotations are those of all writers that are there, by name.
func ownAnnotations(o *unstructured.Unstructured) map[string]string {
	fields := map[string]string{}
	for name, value := range o.GetAnnotations() {
		if strings.HasPrefix(name, ownPrefix) {
			fields[name] = value
		}
	}
	return fields
}

// inTrial returns a name that begins with the trial's prefix, and no other trial's.
func inTrial(stage compare.Stage, name string) string {
	return strings.TrimSuffix(stage.Prefix, "-") + "-" + name
}

// configured returns what modify sets, as an apply configuration.
func configured(modify func(*unstructured.Unstructured) error) func(*unstructured.Unstructured) map[string]any {
	return func(*unstructured.Unstructured) map[string]any {
		o := unstructured.Unstructured{Object: map[string]any{}}
		_ = modify(&o) // an empty object has nothing of a wrong type
		return o.Object
	}
}
