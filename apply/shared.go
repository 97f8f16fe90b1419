package apply

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/fieldowners"
)

func (c *call) sharedIn(entries []metav1.ManagedFieldsEntry, subresource string) []fieldowners.Shared {
	return fieldowners.SharedBy(entries, c.config.FieldManager, subresource)
}

// toTell returns those of the shared fields that belong in Outcome.Shared. A Func of the policy
// is not asked: there is no conflict yet.
func (c *call) toTell(intent Intent, shared []fieldowners.Shared) (told []fieldowners.Shared) {
	if c.config.Policy.ask != nil {
		return nil
	}
	for _, field := range shared {
		if field.With.Name == c.config.FieldManager && field.With.Operation == metav1.ManagedFieldsOperationApply {
			continue // ours through a subresource: the next apply takes it, see decideOn
		}
		if c.policyFor(intent, field.With).byRules(Conflict{Manager: field.With, Path: field.Path}) == Reject {
			told = append(told, field)
		}
	}
	return told
}
