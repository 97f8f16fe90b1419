package apply

import (
	"hash/maphash"
	"reflect"
	"unique"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"coapply.dev/fieldowners"
)

// proven is an object as it was when nothing of the intent was left to do.
type proven struct {
	kind            unique.Handle[schema.GroupVersionKind]
	name            types.NamespacedName
	uid             types.UID
	resourceVersion string
	entry           uint64 // hash of the managed fields entry
	values          uint64 // hash of the values that it owns
	onlyThis        bool   // of another version nothing is known
	schema          *knownSchema
	owners          uint64               // hash of all managed fields, on which shared depends
	shared          []fieldowners.Shared // with others
}

// isOf reports whether a read is of the object that was proven, and of the one that the
// intent is pinned to, if it is to one.
func (p *proven) isOf(read client.Object, pinned types.UID) bool {
	return read.GetUID() == p.uid && (pinned == "" || pinned == p.uid)
}

// holdsFor reports whether what was proven of one version holds for another one.
func (p *proven) holdsFor(now *proven) bool {
	return !p.onlyThis && now.entry == p.entry && now.values == p.values
}

// fingerprints hash what a proof depends on: our entry, and the values that it owns. They
// remember what many entries have in common, as those of a reconciler are often alike.
type fingerprints struct {
	seed  maphash.Seed
	sets  *recent[uint64, *fieldpath.Set] // by the hash of an entry
	views *recent[viewKey, bool]
}

// viewKey is a set of fields, of a kind, by a schema, as it is seen through a Go type.
type viewKey struct {
	entry  uint64
	kind   schema.GroupVersionKind
	by     managedfields.TypeConverter
	goType reflect.Type
}

func newFingerprints(seed maphash.Seed) *fingerprints {
	return &fingerprints{seed, newRecent[uint64, *fieldpath.Set](rememberedSets), newRecent[viewKey, bool](rememberedSets)}
}

// of fails where one of the values cannot be found, or is not shown as it is stored.
func (f *fingerprints) of(request steadyRequest, read steadyRead, by managedfields.TypeConverter) (*proven, bool) {
	entry := request.ownEntry(read)
	if entry == nil {
		return nil, false
	}
	hash, set, err := f.setOf(entry)
	if err != nil || f.hidden(viewKey{hash, request.kind, by, reflect.TypeOf(read.Object)}, read, set) {
		return nil, false
	}
	content, err := request.contentOf(read)
	if err != nil {
		return nil, false
	}
	values := valueHash{seed: f.seed}
	if !values.owned(set, content) {
		return nil, false
	}
	return &proven{
		kind:            unique.Make(request.kind),
		name:            client.ObjectKeyFromObject(read),
		uid:             read.GetUID(),
		resourceVersion: read.GetResourceVersion(),
		entry:           hash,
		values:          values.sum,
		owners:          f.ownersIn(read.GetManagedFields()),
	}, true
}

// ownersIn hashes who owns what, whenever it was written.
func (f *fingerprints) ownersIn(entries []metav1.ManagedFieldsEntry) uint64 {
	var hash maphash.Hash
	hash.SetSeed(f.seed)
	for _, entry := range entries {
		for _, text := range []string{entry.Manager, string(entry.Operation), entry.Subresource, entry.APIVersion} {
			_, _ = hash.WriteString(text)
			_ = hash.WriteByte(0)
		}
		if entry.FieldsV1 != nil {
			_, _ = hash.Write(entry.FieldsV1.GetRawBytes())
		}
		_ = hash.WriteByte(0)
	}
	return hash.Sum64()
}

func (f *fingerprints) setOf(entry *metav1.ManagedFieldsEntry) (hash uint64, set *fieldpath.Set, err error) {
	raw := entry.FieldsV1.GetRawBytes()
	hash = maphash.Bytes(f.seed, raw)
	set, known := f.sets.get(hash)
	if known {
		return hash, set, nil
	}
	set, err = parseFields(entry)
	if err == nil && len(raw) <= rememberedSetSize {
		f.sets.put(hash, set)
	}
	return hash, set, err
}

// hidden reports whether the read may hide a value of the set, though another one may
// have shown it.
func (f *fingerprints) hidden(key viewKey, read steadyRead, set *fieldpath.Set) bool {
	hidden, known := f.views.get(key)
	if !known {
		empty := &unstructured.Unstructured{}
		empty.SetGroupVersionKind(key.kind)
		typed, err := key.by.ObjectToTyped(empty)
		hidden = err != nil || read.hides(set, typed.Schema(), typed.TypeRef())
		f.views.put(key, hidden)
	}
	return hidden
}
