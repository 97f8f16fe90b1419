package apply

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply/internal/content"
	"coapply.dev/fieldowners"
)

func (c *call) sharedIn(object client.Object, subresource string) []fieldowners.Shared {
	return fieldowners.SharedBy(object.GetManagedFields(), c.config.FieldManager, subresource)
}

// tellShared keeps what Outcome.Shared tells of fields that are shared.
func (c *call) tellShared(shared []fieldowners.Shared, object client.Object) {
	c.shared = nil
	if len(shared) == 0 {
		return
	}
	var values map[string]any
	if c.config.Policy.ask != nil { // nothing else looks at them
		read, err := content.Copy(object)
		if err != nil {
			return
		}
		values = read.Object
	}
	secret := (&encodedIntent{ref: c.ref}).secret()
	for _, field := range shared {
		if field.With.Name == c.config.FieldManager && field.With.Operation == metav1.ManagedFieldsOperationApply {
			continue // ours through a subresource: the next apply takes it, see decideOn
		}
		value, _ := field.Path.Value(values)
		if secret {
			value = hide(value)
		}
		conflict := Conflict{Object: refOf(c.ref, object), Manager: field.With, Path: field.Path,
			ServerPath: field.Path.ServerString(), Ours: value, Theirs: value}
		if c.config.Policy.rejects(conflict) {
			c.shared = append(c.shared, field)
		}
	}
}
