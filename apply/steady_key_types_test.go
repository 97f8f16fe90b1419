package apply

import (
	"bytes"
	"encoding/json"
	"hash/maphash"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/openapi/openapitest"
)

// configTypes are the apply configurations of client-go, and all structs below them.
func configTypes(t *testing.T) []reflect.Type {
	t.Helper()
	found := map[reflect.Type]bool{}
	var add func(reflect.Type)
	add = func(of reflect.Type) {
		if found[of] {
			return
		}
		switch of.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			add(of.Elem())
		case reflect.Struct:
			if found[of] = strings.HasPrefix(of.PkgPath(), "k8s.io/client-go/applyconfigurations/"); found[of] {
				for field := range of.Fields() {
					add(field.Type)
				}
			}
		}
	}
	for kind := range scheme.Scheme.AllKnownTypes() {
		if config := applyconfigurations.ForKind(kind); config != nil {
			add(reflect.TypeOf(config))
		}
	}
	types := slices.DeleteFunc(slices.Collect(maps.Keys(found)), func(of reflect.Type) bool { return !found[of] })
	slices.SortFunc(types, func(a, b reflect.Type) int { return strings.Compare(a.PkgPath()+a.Name(), b.PkgPath()+b.Name()) })
	return types
}

// keyer gives keys of configurations, and of parts of them.
type keyer struct{ *SteadyState }

func newKeyer(t *testing.T) keyer {
	t.Helper()
	s, err := NewSteadyState(&shopCache{}, openapitest.NewEmbeddedFileClient())
	if err != nil {
		t.Fatal(err)
	}
	return keyer{s}
}

// key also tells whether the content was read, and not the JSON.
func (k keyer) key(of reflect.Value) (key any, read, ok bool) {
	var buffer contentBytes
	read = buffer.read(of, k.seeds[0])
	if config, isConfig := reflect.TypeAssert[runtime.ApplyConfiguration](of); isConfig {
		key, ok = k.keyOf(config, "shop", "")
		return key, read, ok
	}
	return maphash.Bytes(k.seeds[0], buffer.bytes), read, read
}

// keyTally counts pairs of values.
type keyTally struct{ changed, same, sameKey int }

// compare holds that of two values with different JSON the keys differ.
func (k keyer) compare(t *testing.T, one, other reflect.Value, count *keyTally) {
	t.Helper()
	first, err := json.Marshal(one.Interface())
	second, err2 := json.Marshal(other.Interface())
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	a, _, ok := k.key(one)
	b, _, ok2 := k.key(other)
	switch {
	case !ok || !ok2:
		t.Errorf("%v: no key for %s or %s", one.Type(), first, second)
	case bytes.Equal(first, second):
		count.same++
		if a == b {
			count.sameKey++
		}
	default:
		count.changed++
		if a == b {
			t.Errorf("%v: one key for\n%s and\n%s", one.Type(), first, second)
		}
	}
}

// TestKeysOfAllTypes: of each apply configuration of client-go, and of each of their
// parts, random values that differ in one place have the same key only if they have the
// same JSON.
func TestKeysOfAllTypes(t *testing.T) {
	types := configTypes(t)
	if len(types) < 500 {
		t.Fatalf("there are %d types", len(types))
	}
	k, count := newKeyer(t), &keyTally{}
	for i, of := range types {
		for round := range uint64(40) {
			one, other := reflect.New(of), reflect.New(of)
			newFiller(uint64(i), round).fill(one.Elem(), 0)
			newFiller(uint64(i), round).fill(other.Elem(), 0)
			again := *count
			k.compare(t, one, other, count)
			if count.same == again.same || count.sameKey == again.sameKey {
				t.Fatalf("%v: two keys for the same content", of)
			}
			if _, read, _ := k.key(one); !read {
				t.Fatalf("%v is known by its JSON alone, which takes five times as long", of)
			}
			newFiller(uint64(i), 1<<32+round).change(other.Elem())
			k.compare(t, one, other, count)
		}
	}
	t.Logf("%d types: %d pairs with other JSON; %d of %d with the same JSON have one key", len(types), count.changed, count.sameKey, count.same)
	if count.changed < len(types)*10 || count.sameKey*100 < count.same*90 {
		t.Error("that is too little")
	}
}
