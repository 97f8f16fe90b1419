package steady

import (
	"bytes"
	"encoding/json"
	"hash/maphash"
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"coapply.dev/test/kit/samples"
)

// keyer gives keys of configurations, and of parts of them.
type keyer struct{ Keys }

func newKeyer() keyer { return keyer{NewKeys()} }

// key also tells whether the content was read, and not the JSON.
func (k keyer) key(of reflect.Value) (key any, read, ok bool) {
	var buffer contentBytes
	read = buffer.read(of, k.seeds[0])
	if config, isConfig := reflect.TypeAssert[runtime.ApplyConfiguration](of); isConfig {
		key, ok = k.Of(config, "shop", "")
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
	types := samples.ConfigTypes()
	if len(types) < 500 {
		t.Fatalf("there are %d types", len(types))
	}
	k, count := newKeyer(), &keyTally{}
	rounds := 40
	if testing.Short() {
		rounds = 12
	}
	for i, of := range types {
		for round := range uint64(rounds) {
			one, other := reflect.New(of), reflect.New(of)
			samples.NewFiller(uint64(i), round).Fill(one.Elem(), 0)
			samples.NewFiller(uint64(i), round).Fill(other.Elem(), 0)
			again := *count
			k.compare(t, one, other, count)
			if count.same == again.same || count.sameKey == again.sameKey {
				t.Fatalf("%v: two keys for the same content", of)
			}
			if _, read, _ := k.key(one); !read {
				t.Fatalf("%v is known by its JSON alone, which takes five times as long", of)
			}
			samples.NewFiller(uint64(i), 1<<32+round).Change(other.Elem())
			k.compare(t, one, other, count)
		}
	}
	t.Logf("%d types: %d pairs with other JSON; %d of %d with the same JSON have one key", len(types), count.changed, count.sameKey, count.same)
	if count.changed < len(types)*rounds/4 || count.sameKey*100 < count.same*90 {
		t.Error("that is too little")
	}
}
