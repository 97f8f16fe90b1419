package main

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"coapply.dev/cmd/kubectl-fieldowners/internal/objects"
	"coapply.dev/cmd/kubectl-fieldowners/internal/owneraudit"
	"coapply.dev/cmd/kubectl-fieldowners/internal/ownerview"
	"coapply.dev/fieldowners/lint"
)

func (a *auditCommand) readFiles() error {
	return a.ReadFiles(a.Files, func(item objects.Item) error {
		content := item.Content
		o := unstructured.Unstructured{Object: content}
		ref := owneraudit.Ref{
			APIVersion: o.GetAPIVersion(), Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName(), UID: string(o.GetUID()),
		}
		entries, unread := ownerview.Entries(content)
		facts, err := factsOf(content)
		if err != nil {
			return err
		}
		a.add(owneraudit.Object{Ref: ref, ManagedFields: entries, Unread: unread, Facts: facts})
		return nil
	})
}

// small objects are mostly managed fields as a rule, which costs nobody anything.
const small = 4 << 10

func factsOf(content map[string]any) (lint.Facts, error) {
	whole, err := json.Marshal(content)
	if err != nil || len(whole) < small { // without a size it is not judged
		return lint.Facts{}, err
	}
	return lint.Facts{ObjectBytes: len(whole)}, nil
}
