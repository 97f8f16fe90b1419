package main

import (
	"encoding/json"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"coapply.dev/cmd/kubectl-fieldowners/internal/owneraudit"
	"coapply.dev/fieldowners"
)

func (a *auditCommand) readFiles() error {
	return a.plugin.readFiles(a.files, func(_ string, content map[string]any) error {
		o := unstructured.Unstructured{Object: content}
		ref := owneraudit.Ref{
			APIVersion: o.GetAPIVersion(), Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName(), UID: string(o.GetUID()),
		}
		entries, wrong := managedFieldsOf(content)
		whole, err := json.Marshal(content)
		if err != nil { // it was read from JSON
			return err
		}
		a.add(owneraudit.Object{Ref: ref, ManagedFields: entries, Unread: wrong, Facts: fieldowners.LintFacts{ObjectBytes: len(whole)}})
		return nil
	})
}

// managedFieldsOf reads entry by entry: Unstructured.GetManagedFields has none where
// one is malformed.
func managedFieldsOf(content map[string]any) (entries []metav1.ManagedFieldsEntry, wrong []error) {
	raw, _, err := unstructured.NestedFieldNoCopy(content, "metadata", "managedFields")
	list, isList := raw.([]any)
	if err != nil || raw != nil && !isList {
		return nil, []error{errors.New("metadata.managedFields is no list of entries")}
	}
	for i := range list {
		var entry metav1.ManagedFieldsEntry
		text, err := json.Marshal(list[i])
		if err == nil {
			err = json.Unmarshal(text, &entry)
		}
		if err != nil {
			wrong = append(wrong, fmt.Errorf("managedFields[%d]: %w", i, err))
			continue
		}
		entries = append(entries, entry)
	}
	return entries, wrong
}
