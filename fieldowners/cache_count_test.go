package fieldowners

import (
	"strings"
	"testing"
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
