package fieldowners

import (
	"encoding/json"
	"errors"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// EntriesOf returns the managed fields of an unstructured object that can be read, and what is
// wrong with each other entry. It reads one by one: Unstructured.GetManagedFields returns nothing
// where one is malformed.
func EntriesOf(object map[string]any) (entries []metav1.ManagedFieldsEntry, unread []error) {
	metadata, _ := object["metadata"].(map[string]any)
	list, isList := metadata["managedFields"].([]any)
	if !isList && metadata["managedFields"] != nil {
		return nil, []error{errors.New("metadata.managedFields is no list of entries")}
	}
	for i, raw := range list {
		entry, err := readEntry(raw)
		if err != nil {
			fields, _ := raw.(map[string]any)
			name, _ := fields["manager"].(string)
			unread = append(unread, &EntryError{Index: i, Manager: name, Err: err})
			continue
		}
		entries = append(entries, entry)
	}
	return entries, unread
}

func readEntry(raw any) (entry metav1.ManagedFieldsEntry, err error) {
	text, err := json.Marshal(raw)
	if err != nil { // it was read from neither JSON nor YAML
		return entry, err
	}
	err = json.Unmarshal(text, &entry)
	if wrong, is := errors.AsType[*json.UnmarshalTypeError](err); is {
		return entry, errors.New(strings.Trim(wrong.Field+" is a "+wrong.Value+", which it cannot be", " "))
	}
	if err == nil {
		_, err = parseEntry(entry)
	}
	return entry, err
}
