package apply

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/fieldowners"
)

// readable gives who owns what. Entries of others that cannot be read, as anybody can
// forge them, are passed over; one of our own is an error.
func (a *Applier) readable(entries []metav1.ManagedFieldsEntry) (fieldowners.Ownership, error) {
	ownership, unread := fieldowners.ParseReadable(entries)
	for _, entry := range unread {
		if entry.Manager == a.config.FieldManager {
			return fieldowners.Ownership{}, entry
		}
	}
	return ownership, nil
}
