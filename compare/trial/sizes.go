package trial

import (
	"encoding/json"
	"fmt"
)

// sizes contains the number and the JSON sizes of the trial's objects at the end of the trial.
type sizes struct {
	objects, bytes, managedFields int
}

// add counts and measures the items that are objects of the trial. It returns the highest revision of these objects.
func (s *sizes) add(w *watch, items []json.RawMessage, fields fieldsOf) (highest uint64, err error) {
	for _, item := range items {
		found, err := w.version(nil, event{Object: item}, fields)
		if err != nil {
			return 0, err
		}
		for _, version := range found { // at most one
			highest = max(highest, version.Revision)
			if err := s.measure(version.Object, item); err != nil {
				return 0, err
			}
		}
	}
	return highest, nil
}

func (s *sizes) measure(name string, item json.RawMessage) error {
	var metadata struct {
		Metadata struct {
			ManagedFields json.RawMessage `json:"managedFields"`
		} `json:"metadata"`
	}
	err := json.Unmarshal(item, &metadata)
	s.objects++
	s.bytes += len(item)
	s.managedFields += len(metadata.Metadata.ManagedFields)
	if err != nil {
		return fmt.Errorf("reading %s at the end of the trial: %w", name, err)
	}
	return nil
}

func (s *sizes) mean() (bytes, managedFields int) {
	if s.objects == 0 {
		return 0, 0
	}
	return s.bytes / s.objects, s.managedFields / s.objects
}
