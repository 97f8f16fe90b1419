package ownerview

import (
	"encoding/json"
	"errors"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"coapply.dev/fieldowners"
)

// Entries returns the managed fields of an unstructured object that can be read, and says
// of each other entry what is wrong with it. It reads one by one:
// Unstructured.GetManagedFields has none where one is malformed.
func Entries(content map[string]any) (entries []metav1.ManagedFieldsEntry, unread []error) {
	raw, _, err := unstructured.NestedFieldNoCopy(content, "metadata", "managedFields")
	list, isList := raw.([]any)
	if err != nil || raw != nil && !isList {
		return nil, []error{errors.New("metadata.managedFields is no list of entries")}
	}
	for i := range list {
		entry, err := readEntry(list[i])
		if err != nil {
			unread = append(unread, &fieldowners.EntryError{Index: i, Manager: managerOf(list[i]), Err: err})
			continue
		}
		entries = append(entries, entry)
	}
	return entries, unread
}

func readEntry(raw any) (entry metav1.ManagedFieldsEntry, err error) {
	text, err := json.Marshal(raw)
	if err != nil { // it was read from JSON or YAML
		return entry, err
	}
	wrongType := (*json.UnmarshalTypeError)(nil)
	switch err = json.Unmarshal(text, &entry); {
	case errors.As(err, &wrongType):
		return entry, errors.New(strings.Trim(wrongType.Field+" is a "+wrongType.Value+", which it cannot be", " "))
	case err != nil:
		return entry, err
	}
	_, err = fieldowners.Parse([]metav1.ManagedFieldsEntry{entry})
	if wrong := (*fieldowners.EntryError)(nil); errors.As(err, &wrong) {
		err = wrong.Err // its place here is that in the whole list
	}
	return entry, err
}

func managerOf(raw any) string {
	fields, _ := raw.(map[string]any)
	name, _ := fields["manager"].(string)
	return name
}
