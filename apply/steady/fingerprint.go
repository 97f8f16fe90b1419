package steady

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

	"coapply.dev/internal/recent"
)

// Print is an object in which an intent had nothing left to change, as hashes of what the proof
// depends on.
type Print struct {
	Name            types.NamespacedName
	UID             types.UID
	ResourceVersion string

	kind   unique.Handle[schema.GroupVersionKind]
	entry  uint64 // of the managed fields entry
	values uint64 // of the values that it owns
	owners uint64 // of all managed fields
}

// Kind returns the kind of the object.
func (p *Print) Kind() schema.GroupVersionKind { return p.kind.Value() }

// IsOf reports whether read is the object of the proof, and has the uid to which the intent is
// pinned, if any.
func (p *Print) IsOf(read client.Object, pinned types.UID) bool {
	return read.GetUID() == p.UID && (pinned == "" || pinned == p.UID)
}

// HoldsFor reports whether the proof for one version holds for another. A proof that was not
// exact (Request.Prove) holds for its version alone.
func (p *Print) HoldsFor(now *Print) bool { return now.entry == p.entry && now.values == p.values }

// SameOwners reports whether the managed fields of both are the same, except for their times.
func (p *Print) SameOwners(now *Print) bool { return now.owners == p.owners }

// PrintOfVersion returns a Print for a proof that holds only for the resourceVersion of the read
// object.
func (r Request) PrintOfVersion(read Read) *Print {
	return &Print{
		kind:            unique.Make(r.Kind),
		Name:            client.ObjectKeyFromObject(read),
		UID:             read.GetUID(),
		ResourceVersion: read.GetResourceVersion(),
	}
}

// Prints hashes what a proof depends on: our entry, and the values that it owns. It remembers
// sets of fields, as the entries of one reconciler are often the same.
type Prints struct {
	seed  maphash.Seed
	sets  *recent.Cache[uint64, *fieldpath.Set] // by the hash of an entry
	views *recent.Cache[viewKey, bool]
}

// The least number of sets that are remembered, and how large they may be.
const (
	rememberedSets    = 256
	rememberedSetSize = 1 << 14 // bytes of the entry
)

// viewKey is a set of fields of a kind and schema, read through a Go type.
type viewKey struct {
	entry  uint64
	kind   schema.GroupVersionKind
	by     managedfields.TypeConverter
	goType reflect.Type
}

// NewPrints returns an empty Prints.
func NewPrints() *Prints {
	return &Prints{maphash.MakeSeed(), recent.New[uint64, *fieldpath.Set](rememberedSets), recent.New[viewKey, bool](rememberedSets)}
}

// Of returns the Print of an object; false if one of the values is not found, or is not shown
// as it is stored.
func (f *Prints) Of(request Request, read Read, by managedfields.TypeConverter) (*Print, bool) {
	entry := request.ownEntry(read)
	if entry == nil {
		return nil, false
	}
	hash, set, err := f.setOf(entry)
	if err != nil || f.hidden(viewKey{hash, request.Kind, by, reflect.TypeOf(read.Object)}, read, set) {
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
	found := request.PrintOfVersion(read)
	found.entry, found.values, found.owners = hash, values.sum, f.ownersIn(read.GetManagedFields())
	return found, true
}

// ownersIn returns a hash of who owns what, without the times.
func (f *Prints) ownersIn(entries []metav1.ManagedFieldsEntry) uint64 {
	var hash maphash.Hash
	hash.SetSeed(f.seed)
	for _, entry := range entries {
		for _, text := range []string{entry.Manager, string(entry.Operation), entry.Subresource, entry.APIVersion} {
			_, _ = hash.WriteString(text)
			_ = hash.WriteByte(0)
		}
		_, _ = hash.Write(entry.FieldsV1.GetRawBytes())
		_ = hash.WriteByte(0)
	}
	return hash.Sum64()
}

func (f *Prints) setOf(entry *metav1.ManagedFieldsEntry) (hash uint64, set *fieldpath.Set, err error) {
	raw := entry.FieldsV1.GetRawBytes()
	hash = maphash.Bytes(f.seed, raw)
	set, known := f.sets.Get(hash)
	if known {
		return hash, set, nil
	}
	set, err = parseFields(entry)
	if err == nil && len(raw) <= rememberedSetSize {
		f.sets.Put(hash, set)
	}
	return hash, set, err
}

// hidden reports whether the Go type of the read may hide a value of the set.
func (f *Prints) hidden(key viewKey, read Read, set *fieldpath.Set) bool {
	hidden, known := f.views.Get(key)
	if !known {
		empty := &unstructured.Unstructured{}
		empty.SetGroupVersionKind(key.kind)
		typed, err := key.by.ObjectToTyped(empty)
		hidden = err != nil || read.hides(set, typed.Schema(), typed.TypeRef())
		f.views.Put(key, hidden)
	}
	return hidden
}
