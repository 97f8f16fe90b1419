package steady

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"reflect"
	"unique"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"coapply.dev/apply/internal/wire"
)

// Print is a fingerprint of an object for which an apply was proven to be a no-op. It contains hashes of the state on
// which the proof depends. If a later version of the object has the same hashes, the proof is also valid for that
// version.
type Print struct {
	Name            types.NamespacedName
	UID             types.UID
	ResourceVersion string

	kind   unique.Handle[schema.GroupVersionKind]
	goType reflect.Type // the Go type of the object that was read
	entry  uint64       // hash of the manager's managed fields entry; 0 if the proof is valid for ResourceVersion only
	values uint64       // hash of the values of the fields that the entry lists
}

// Kind returns the kind of the object.
func (p *Print) Kind() schema.GroupVersionKind { return p.kind.Value() }

// IsOf reports whether the proof was made for the given object, in any version. If the given pinned uid is not empty,
// the object must also have this uid.
func (p *Print) IsOf(read client.Object, pinned types.UID) bool {
	return read.GetUID() == p.UID && (pinned == "" || pinned == p.UID)
}

// HoldsFor reports whether the proof is also valid for the version of the object that the given Print describes.
func (p *Print) HoldsFor(now *Print) bool {
	return p.entry != 0 && now.entry == p.entry && now.values == p.values && now.goType == p.goType
}

// printOfVersion returns a Print for a proof that is valid only for the resourceVersion of the object that was read.
func (r Request) printOfVersion(read Read) *Print {
	return &Print{
		kind:            unique.Make(r.Kind),
		Name:            client.ObjectKeyFromObject(read),
		UID:             read.GetUID(),
		ResourceVersion: read.GetResourceVersion(),
		goType:          reflect.TypeOf(read.Object),
	}
}

var seed = maphash.MakeSeed()

// PrintOf returns the Print of an object that contains the values of the intent without any difference in form. The
// proof is then also valid for other versions of the object, if the manager's entry and the values of its fields are
// the same. If the object lacks a value of the intent, the proof is valid only for the version that was read.
func (r Request) PrintOf(read Read) *Print {
	found := r.printOfVersion(read)
	entry := r.ownEntry(read)
	if entry == nil {
		return found
	}
	set, err := parseFields(entry)
	if err != nil {
		return found
	}
	content, err := r.contentOf(read)
	if err != nil {
		return found
	}
	var hash maphash.Hash
	hash.SetSeed(seed)
	if hashOwned(&hash, set, content) {
		found.entry, found.values = maphash.Bytes(seed, entry.FieldsV1.GetRawBytes()), hash.Sum64()
	}
	return found
}

// HashOthers returns a hash of the managed fields entries of all other managers, and of the values of the fields in the
// entries for which holds returns true. It returns 0 if the object lacks such a value, or if an entry cannot be parsed.
func (r Request) HashOthers(read Read, holds func(metav1.ManagedFieldsEntry) bool) uint64 {
	content, err := r.contentOf(read)
	if err != nil {
		return 0
	}
	var hash maphash.Hash
	hash.SetSeed(seed)
	for _, entry := range read.GetManagedFields() {
		if r.isOwn(entry) {
			continue
		}
		_, _ = fmt.Fprintf(&hash, "%q %q %q %q", entry.Manager, entry.Operation, entry.Subresource, entry.APIVersion)
		if entry.FieldsV1 != nil {
			_, _ = hash.Write(entry.FieldsV1.GetRawBytes())
		}
		if !holds(entry) {
			continue
		}
		if set, err := parseFields(&entry); err != nil || !hashOwned(&hash, set, content) {
			return 0
		}
	}
	return hash.Sum64()
}

// hashOwned hashes the values that an object has in the given set of fields: scalars, and lists and maps that are owned
// as a whole. It also hashes the index of each list item, because a new order of the items is a change. It returns
// false if the object lacks a value.
func hashOwned(hash *maphash.Hash, set *fieldpath.Set, of value.Value) bool {
	found := true
	set.Members.Iterate(func(element fieldpath.PathElement) {
		if _, above := set.Children.Get(element); above {
			return
		}
		at, index, ok := elementOf(of, element)
		if found = found && ok; found {
			encoded, err := json.Marshal(at.Unstructured())
			_, _ = fmt.Fprintf(hash, "%d %s\n", index, encoded)
			found = err == nil
		}
	})
	set.Children.Iterate(func(element fieldpath.PathElement) {
		below, _ := set.Children.Get(element)
		at, index, _ := elementOf(of, element)
		_, _ = fmt.Fprintf(hash, "%d\n", index)
		found = found && hashOwned(hash, below, at)
	})
	return found
}

// Key identifies an apply: by the content of the intent, the field manager and the subresource.
type Key struct {
	Manager     string
	Subresource string

	intent [sha256.Size]byte // hash of the apply configuration as JSON
}

// KeyOf returns the Key of an apply. It returns false if the apply configuration cannot be encoded.
func KeyOf(configuration runtime.ApplyConfiguration, manager, subresource string) (Key, bool) {
	encoded, err := wire.Encode(configuration)
	return Key{manager, subresource, sha256.Sum256(encoded.JSON)}, err == nil
}
