package apply

import (
	"hash/maphash"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
)

// provenKey is the content of an intent, and who applies it to what.
type provenKey struct {
	intent      [2]uint64
	manager     string
	subresource string
}

// keyOf gives configurations of which other JSON would be sent different keys. Nothing
// else may be concluded: the same JSON may have two keys, which costs a proof.
//
// JSON is a function of a value's type and of all that its fields hold, so the key is
// made of these: to read them takes a fifth of the time that the JSON takes. What
// cannot be read that surely is in the key as its JSON, see shape.
func (s *SteadyState) keyOf(configuration runtime.ApplyConfiguration, manager, subresource string) (provenKey, bool) {
	config := reflect.ValueOf(configuration)
	if !config.IsValid() || config.Kind() != reflect.Pointer || config.IsNil() {
		return provenKey{}, false
	}
	buffer := contents.Get().(*contentBytes)
	defer contents.Put(buffer)
	_, untyped := configuration.(unstructuredHolder)
	if untyped || !buffer.read(config, s.seeds[0]) {
		encoded, err := toJSON(configuration)
		if err != nil {
			return provenKey{}, false
		}
		buffer.reset(isJSON)
		buffer.bytes = append(buffer.bytes, encoded.raw...)
	}
	hashes := [2]uint64{maphash.Bytes(s.seeds[0], buffer.bytes), maphash.Bytes(s.seeds[1], buffer.bytes)}
	return provenKey{hashes, manager, subresource}, true
}
