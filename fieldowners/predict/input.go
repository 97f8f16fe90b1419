package predict

import (
	"errors"
	"fmt"
	"maps"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v4/fieldpath"

	"coapply.dev/fieldowners"
)

// ErrNoManagedFields is the error of Apply if the live object has no managed fields: its owners
// are unknown, which does not mean that there are none.
var ErrNoManagedFields = errors.New("managed fields absent: read the object with them (kubectl get --show-managed-fields); " +
	"if the API server has none for it, the next apply makes before-first-apply the owner of everything")

// question is the input of a prediction.
type question struct {
	kind, version string         // of the intent
	live, intent  map[string]any // without name and the metadata that the server maintains
	owners        fieldowners.Ownership
	entries       []fieldowners.Entry // of owners
	us            fieldowners.Manager
	root          *fieldType
}

func newQuestion(live, intent map[string]any, manager, subresource string) (*question, error) {
	switch {
	case manager == "":
		return nil, errors.New("the field manager has no name")
	case subresource != "" && subresource != "status":
		return nil, fmt.Errorf("subresource %q: only an apply to the object itself or to its status can be predicted", subresource)
	case subresource != "" && live == nil:
		return nil, errors.New("there is no live object: an apply to the status does not create one")
	}
	q := &question{root: &fieldType{}}
	var err error
	if q.kind, q.version, err = checkIntent(intent); err != nil {
		return nil, err
	}
	q.us = fieldowners.Manager{Name: manager, Operation: metav1.ManagedFieldsOperationApply, Subresource: subresource, APIVersion: q.version}
	if live != nil {
		if err := sameObject(live, intent); err != nil {
			return nil, err
		}
		if q.owners, err = ownersOf(live); err != nil {
			return nil, err
		}
		q.entries = q.owners.Entries()
	}
	q.live, q.intent = contentOf(live), contentOf(intent)
	if err := q.root.see(q.live, nil, 0); err != nil {
		return nil, fmt.Errorf("live object: %w", err)
	}
	if err := q.root.see(q.intent, nil, 0); err != nil {
		return nil, fmt.Errorf("intent: %w", err)
	}
	q.learn()
	return q, nil
}

// checkIntent returns an error for an intent that the API server would refuse.
func checkIntent(intent map[string]any) (kind, version string, err error) {
	kind, _ = intent["kind"].(string)
	version, _ = intent["apiVersion"].(string)
	if kind == "" || version == "" {
		return "", "", errors.New("intent: apiVersion or kind is missing")
	}
	metadata, isMap := intent["metadata"].(map[string]any)
	if !isMap && intent["metadata"] != nil {
		return "", "", errors.New("intent: .metadata is no map")
	}
	if metadata["managedFields"] != nil {
		return "", "", errors.New("intent: .metadata.managedFields must not be set: the API server refuses to apply them")
	}
	return kind, version, nil
}

// sameObject returns an error unless both are the same object in the same apiVersion. A name
// that one of them leaves out is no difference.
func sameObject(live, intent map[string]any) error {
	for _, path := range []string{".kind", ".metadata.name", ".metadata.namespace", ".apiVersion"} {
		has, _ := fieldowners.MustParsePath(path).Value(live)
		wants, _ := fieldowners.MustParsePath(path).Value(intent)
		missing := has == nil || wants == nil
		switch {
		case missing && strings.HasPrefix(path, ".metadata"), fieldowners.EqualValues(has, wants):
		case path == ".apiVersion":
			return fmt.Errorf("the live object is in %v, the intent in %v: read it in the version of the intent", has, wants)
		default:
			return fmt.Errorf("the intent is for another object: its %s is %v, that of the live object %v", path, wants, has)
		}
	}
	return nil
}

// ownersOf returns the ownership of an unstructured object.
func ownersOf(live map[string]any) (fieldowners.Ownership, error) {
	entries, unread := fieldowners.EntriesOf(live)
	switch {
	case len(unread) > 0:
		return fieldowners.Ownership{}, fmt.Errorf("live object: %w", unread[0])
	case len(entries) == 0:
		return fieldowners.Ownership{}, ErrNoManagedFields
	}
	return fieldowners.Parse(entries)
}

// contentOf returns an object without the fields that have no owner.
func contentOf(object map[string]any) map[string]any {
	content := maps.Clone(object)
	delete(content, "apiVersion")
	delete(content, "kind")
	if metadata, isMap := content["metadata"].(map[string]any); isMap {
		metadata = maps.Clone(metadata)
		maps.DeleteFunc(metadata, func(name string, _ any) bool {
			return name == "managedFields" || fieldowners.PathOf(fieldpath.MakePathOrDie("metadata", name)).IsServerKept()
		})
		content["metadata"] = metadata
	}
	if metadata, _ := content["metadata"].(map[string]any); len(metadata) == 0 {
		delete(content, "metadata")
	}
	return content
}

// oursIn returns the manager's entry, in any apiVersion.
func (q *question) oursIn(owners fieldowners.Ownership) fieldowners.Entry {
	for _, entry := range owners.Entries() {
		if q.isUs(entry.Manager) {
			return entry
		}
	}
	return fieldowners.Entry{}
}

// isUs reports whether m is the applier, in any apiVersion, as for the API server.
func (q *question) isUs(m fieldowners.Manager) bool { return m.SameWriter(q.us) }

// ownedAt reports whether any manager owns the field itself.
func (q *question) ownedAt(at fieldpath.Path) bool {
	return len(q.owners.OwnersOf(fieldowners.PathOf(at))) > 0
}
