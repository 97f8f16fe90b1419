package trial

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"coapply.dev/compare/history"
)

// event is one event of a watch, as one line of JSON.
type event struct {
	Type   string          `json:"type"`
	Object json.RawMessage `json:"object"`
}

func parseEvent(line []byte) (event, error) {
	var e event
	if err := json.Unmarshal(line, &e); err != nil {
		return e, fmt.Errorf("parsing an event: %w", err)
	}
	return e, nil
}

func (e event) revision() (string, error) {
	var object struct {
		Metadata struct {
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(e.Object, &object); err != nil {
		return "", fmt.Errorf("parsing the object of an event: %w", err)
	}
	if object.Metadata.ResourceVersion == "" {
		return "", errors.New("the object of an event has no resourceVersion")
	}
	return object.Metadata.ResourceVersion, nil
}

// fieldsOf returns the tracked fields of an object, or nil if the object does not belong to the trial.
type fieldsOf func(*unstructured.Unstructured) (map[string]string, error)

// watched contains the versions of the trial's objects that the watches have seen.
type watched struct {
	versions []history.Version // sorted by revision
	// events is the number of all events, including repeated events. revisions is the number of versions that are newer than
	// the start of the watches.
	events, revisions int
}

// read parses the events that the watches stored. The watches must have ended.
func (w *watches) read(fields fieldsOf) (seen watched, err error) {
	for _, one := range w.all {
		for _, item := range one.initial {
			if seen.versions, err = one.version(seen.versions, event{Object: item}, fields); err != nil {
				return seen, err
			}
		}
	}
	initial := len(seen.versions)
	for _, one := range w.all {
		for _, line := range one.lines {
			e, err := parseEvent(line)
			if err == nil && e.Type != "BOOKMARK" && e.Type != "ERROR" {
				seen.versions, err = one.version(seen.versions, e, fields)
			}
			if err != nil {
				return seen, fmt.Errorf("processing an event from the watch of %s: %w", one.kind.Resource, err)
			}
		}
	}
	seen.events = len(seen.versions) - initial
	slices.SortStableFunc(seen.versions, func(a, b history.Version) int { return cmp.Compare(a.Revision, b.Revision) })
	seen.versions = slices.CompactFunc(seen.versions, func(a, b history.Version) bool {
		return a.Revision == b.Revision && a.Object == b.Object
	})
	seen.revisions = len(seen.versions) - initial
	return seen, nil
}

// version appends the version of the object in an event to the given versions, if the object belongs to the trial.
func (w *watch) version(versions []history.Version, e event, fields fieldsOf) ([]history.Version, error) {
	object := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal(e.Object, &object.Object); err != nil { // utiljson parses integers as int64, as clients do
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
