package apply

import (
	"crypto/sha256"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/apply/internal/wire"
	"coapply.dev/fieldowners"
)

// readable returns who owns what, without entries of others that cannot be read, as anybody can
// forge them. An entry of our own that cannot be read is an error.
func (a *Applier) readable(entries []metav1.ManagedFieldsEntry) (fieldowners.Ownership, error) {
	ownership, unread := fieldowners.ParseReadable(entries)
	for _, entry := range unread {
		if entry.Manager == a.config.FieldManager {
			return fieldowners.Ownership{}, entry
		}
	}
	return ownership, nil
}

// unreadFields is a hash of fields that cannot be read, to see whether they have changed.
type unreadFields [sha256.Size]byte

// unreadFieldsOf returns the hash of the manager's fields that cannot be read; zero if all can
// be.
func unreadFieldsOf(entries []metav1.ManagedFieldsEntry, manager fieldowners.Manager) (fields unreadFields) {
	for _, entry := range entries {
		if entry.Manager != manager.Name || entry.Operation != manager.Operation || entry.Subresource != manager.Subresource {
			continue
		}
		if _, err := fieldowners.Parse([]metav1.ManagedFieldsEntry{entry}); err == nil {
			continue
		}
		var raw []byte
		if entry.FieldsV1 != nil {
			raw = entry.FieldsV1.GetRawBytes()
		}
		fields = sha256.Sum256(slices.Concat(fields[:], []byte(entry.APIVersion), raw))
	}
	return fields
}

// namesUnread reports whether a conflict is with an owner whose fields cannot be read.
func namesUnread(refused error, entries []metav1.ManagedFieldsEntry) bool {
	asked := map[owner]bool{}
	for _, cause := range wire.ConflictCauses(refused) {
		manager, err := fieldowners.ParseCause(cause.Message)
		if who := ownerOfField(manager); err == nil && !asked[who] {
			if asked[who] = true; unreadFieldsOf(entries, manager) != (unreadFields{}) {
				return true
			}
		}
	}
	return false
}
