package trial

import (
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// sizes contains the number and the JSON sizes of the trial's objects at the end of the trial.
type sizes struct {
	objects, bytes, managedFields int
}

// add counts and measures the items that are objects of the trial. It returns the highest revision of these objects.
func (s *sizes) add(w *watch, items []runtime.RawExtension, fields fieldsOf) (highest uint64, err error) {
	for _, item := range items {
		found, err := w.version(nil, metav1.WatchEvent{Object: item}, fields)
		if err != nil {
			return 0, err
		}
		for _, version := range found { // at most one
			highest = max(highest, version.Revision)
			var object struct {
				Metadata struct {
					ManagedFields json.RawMessage `json:"managedFields"`
				} `json:"metadata"`
			}
			if err := json.Unmarshal(item.Raw, &object); err != nil {
				return 0, fmt.Errorf("reading %s at the end of the trial: %w", version.Object, err)
			}
			s.objects++
			s.bytes += len(item.Raw)
			s.managedFields += len(object.Metadata.ManagedFields)
		}
	}
	return highest, nil
}

func (s *sizes) mean() (bytes, managedFields int) {
	n := max(s.objects, 1)
	return s.bytes / n, s.managedFields / n
}
