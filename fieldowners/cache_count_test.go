package fieldowners

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestCacheCounts holds what is kept, and how much of it is counted.
func TestCacheCounts(t *testing.T) {
	var c fieldsCache
	if _, err := c.parse([]byte("{")); err == nil || len(c.young) != 0 {
		t.Errorf("%v, and %d are kept: malformed fields are not", err, len(c.young))
	}
	const text = `{"f:a":{}}`
	for range 2 {
		set, err := c.parse([]byte(text))
		if err != nil || len(c.young) != 1 || c.size != len(text)+cacheOverhead {
			t.Errorf("%v: %d are kept, %d bytes", err, len(c.young), c.size)
		}
		c.keep(text, set) // as another goroutine may
	}
	largest := []byte(`{"f:` + strings.Repeat("x", cacheLargest-len(`{"f:":{}}`)) + `":{}}`)
	if _, err := c.parse(largest); err != nil || c.young[string(largest)].set == nil {
		t.Errorf("%v: the largest that is kept is not", err)
	}
	c = fieldsCache{}
	for _, half := range []string{"a", "b"} {
		c.insert(remembered{text: strings.Repeat(half, cacheGeneration/2-cacheOverhead)})
	}
	if len(c.young) != 2 || len(c.old) != 0 {
		t.Errorf("%d in a generation that is just full, %d before it", len(c.young), len(c.old))
	}
}

// TestApartIsNotParsed: KeepOwn drops entries of others by their outermost names, which is what makes it cheap.
func TestApartIsNotParsed(t *testing.T) {
	entries := []metav1.ManagedFieldsEntry{
		cached("us", `{"f:spec":{"f:apart":{}}}`), cached("us", `{"f:metadata":{"f:apart":{"f:status":{}}}}`),
		cached("them", `{"f:status":{"f:spec":{"f:apart":{}}},"f:other":{"f:metadata":{}}}`),
		cached("them", `{"f:status":{"k:{\"f:spec\":\"}\"}":{"f:apart":{}}},"f:last":{}}`),
		cached("them", ` {"f:status":{"f:apart":{}}}`), cached("them", ""),
	}
	object := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{ManagedFields: entries}}
	if _, err := KeepOwn("us")(object); err != nil {
		t.Fatal(err)
	}
	for i, apart := range []bool{2: true, 3: true, 4: false, 5: false} {
		if text := entries[i].FieldsV1.GetRawBytes(); apart && parsed.find(text) != nil {
			t.Errorf("parsed: %s", text)
		}
	}
	if kept := object.ManagedFields; len(kept) != 3 {
		t.Errorf("%d are kept, want ours and the one that cannot be read: %v", len(kept), kept)
	}
}
