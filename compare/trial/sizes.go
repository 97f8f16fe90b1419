package trial

import (
	"encoding/json"
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"coapply.dev/compare"
)

// sizes are of the trial's objects at the end, as JSON.
type sizes struct {
	objects, bytes, managedFields int
	yaml                          string // of the first of them
}

// add returns the highest revision of the trial's objects among items.
func (s *sizes) add(kind compare.Kind, items []json.RawMessage, fields fieldsOf) (highest uint64, err error) {
	for _, item := range items {
		object := &unstructured.Unstructured{}
		if err := utiljson.Unmarshal(item, &object.Object); err != nil {
			return 0, fmt.Errorf("an object of kind %s that is none: %w", kind.Kind, err)
		}
		object.SetGroupVersionKind(kind.GroupVersionKind)
		tracked, err := fields(object)
		if err != nil {
			return 0, err
		}
		if tracked == nil {
			continue
		}
		revision, err := strconv.ParseUint(object.GetResourceVersion(), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("resourceVersion of %s: %w", object.GetName(), err)
		}
		highest = max(highest, revision)
		if err := s.measure(object, item); err != nil {
			return 0, err
		}
	}
	return highest, nil
}

func (s *sizes) measure(object *unstructured.Unstructured, item json.RawMessage) error {
	var metadata struct {
		Metadata struct {
			ManagedFields json.RawMessage `json:"managedFields"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(item, &metadata); err != nil {
		return fmt.Errorf("metadata of %s: %w", object.GetName(), err)
	}
	s.objects++
	s.bytes += len(item)
	s.managedFields += len(metadata.Metadata.ManagedFields)
	if s.yaml == "" {
		text, err := yaml.Marshal(object.Object)
		if err != nil {
			return fmt.Errorf("%s as YAML: %w", object.GetName(), err)
		}
		s.yaml = string(text)
	}
	return nil
}

func (s *sizes) mean() (bytes, managedFields int) {
	if s.objects == 0 {
		return 0, 0
	}
	return s.bytes / s.objects, s.managedFields / s.objects
}
