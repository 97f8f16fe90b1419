package transfer

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"coapply.dev/fieldowners"
)

// configurationOf returns the apply configuration of all fields that a manager owns on an
// object now, pinned to the uid. missing are fields that the manager owns and that are absent
// in the object.
func configurationOf(live *unstructured.Unstructured, owned fieldowners.Ownership, owner fieldowners.Manager) (config *unstructured.Unstructured, missing []fieldowners.Path) {
	e := extraction{owner: owner}
	content, _ := e.take(owned.Join(live.Object))
	config = &unstructured.Unstructured{Object: map[string]any{}}
	if fields, isMap := content.(map[string]any); isMap {
		config.Object = fields
	}
	config.SetGroupVersionKind(live.GroupVersionKind())
	config.SetNamespace(live.GetNamespace())
	config.SetName(live.GetName())
	config.SetUID(live.GetUID())
	return config, e.missing
}

// extraction extracts the fields of one manager from an object.
type extraction struct {
	owner   fieldowners.Manager
	missing []fieldowners.Path
}

// take returns a copy of what the manager owns at and below a field.
func (e *extraction) take(f fieldowners.Field) (value any, takes bool) {
	owns := e.isAmong(f.Owners)
	if !f.Exists {
		e.miss(f)
		return nil, false
	}
	switch f.Value.(type) {
	case map[string]any:
		content := e.takeMap(f)
		return content, owns || len(content) > 0 || f.IsLeaf() && e.isAmong(f.Whole)
	case []any:
		items := []any{}
		for _, below := range f.Fields {
			if item, takes := e.take(below); takes {
				items = append(items, item)
			}
		}
		return items, owns || len(items) > 0 || f.IsLeaf() && e.isAmong(f.Whole)
	}
	for _, below := range f.Fields { // owned, and absent
		e.miss(below)
	}
	return runtime.DeepCopyJSONValue(f.Value), owns || e.isAmong(f.Whole)
}

// takeMap is take for a map. It leaves out key fields that the manager does not own if it owns
// another key field: the server fills in their defaults, and the manager would own them.
func (e *extraction) takeMap(f fieldowners.Field) map[string]any {
	content, keys := map[string]any{}, map[string]any{}
	namesKey := false
	var keyNames []string
	if steps := f.Path.Elements(); len(steps) > 0 {
		keyNames = steps[len(steps)-1].Keys
	}
	for _, below := range f.Fields {
		steps := below.Path.Elements()
		if !below.Exists {
			e.miss(below)
			continue
		}
		name := *steps[len(steps)-1].Field
		isKey := slices.Contains(keyNames, name)
		if isKey && !e.isAmong(below.Owners) {
			keys[name] = below.Value
			continue
		}
		if value, takes := e.take(below); takes {
			content[name] = value
			namesKey = namesKey || isKey
		}
	}
	if namesKey || len(content) == 0 && !e.isAmong(f.Owners) {
		return content
	}
	maps.Copy(content, keys)
	return content
}

func (e *extraction) isAmong(owners []fieldowners.Manager) bool {
	return slices.ContainsFunc(owners, e.owner.SameWriter)
}

func (e *extraction) miss(f fieldowners.Field) {
	for field := range f.All() {
		if e.isAmong(field.Owners) {
			e.missing = append(e.missing, field.Path)
		}
	}
}
