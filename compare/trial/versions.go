package trial

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"coapply.dev/compare/history"
)

func parseEvent(line []byte) (event metav1.WatchEvent, err error) {
	if err = json.Unmarshal(line, &event); err != nil {
		err = fmt.Errorf("parsing an event: %w", err)
	}
	return event, err
}

// fieldsOf returns the tracked fields of an object, or nil if the object does not belong to the trial.
type fieldsOf func(*unstructured.Unstructured) (map[string]string, error)

// read parses the events that the watches stored. The watches must have ended. It returns the versions of the trial's
// objects, sorted by revision, and the number of those that are not newer than the start of the watches.
func (w *watches) read(fields fieldsOf) (versions []history.Version, initial int, err error) {
	for _, one := range w.all {
		for _, item := range one.initial.Items {
			if versions, err = one.version(versions, metav1.WatchEvent{Object: item}, fields); err != nil {
				return nil, 0, err
			}
		}
	}
	initial = len(versions)
	for _, one := range w.all {
		for _, line := range one.lines {
			e, err := parseEvent(line)
			if err == nil && e.Type != "BOOKMARK" && e.Type != "ERROR" {
				versions, err = one.version(versions, e, fields)
			}
			if err != nil {
				return nil, 0, fmt.Errorf("processing an event from the watch of %s: %w", one.kind.Resource, err)
			}
		}
	}
	slices.SortStableFunc(versions, func(a, b history.Version) int { return cmp.Compare(a.Revision, b.Revision) })
	return versions, initial, nil
}

// version appends the version of the object in an event to the given versions, if the object belongs to the trial.
func (w *watch) version(versions []history.Version, e metav1.WatchEvent, fields fieldsOf) ([]history.Version, error) {
	object := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal(e.Object.Raw, &object.Object); err != nil { // utiljson parses integers as int64, as clients do
		return nil, fmt.Errorf("parsing the object of an event: %w", err)
	}
	object.SetGroupVersionKind(w.kind.GroupVersionKind) // items of lists have no kind
	revision, err := strconv.ParseUint(object.GetResourceVersion(), 10, 64)
	if err != nil {
		return nil, fmt.Errorf("resourceVersion %q is not a revision of etcd, so versions cannot be sorted", object.GetResourceVersion())
	}
	tracked, err := fields(object)
	if err != nil || tracked == nil {
		return versions, err
	}
	v := history.Version{
		Object: objectName(w.kind.Kind, object.GetNamespace(), object.GetName()), Revision: revision, Fields: tracked,
	}
	if e.Type == "DELETED" {
		v.Deleted, v.Fields = true, nil
	}
	return append(versions, v), nil
}

func objectName(kind, namespace, name string) string { return kind + "/" + namespace + "/" + name }
