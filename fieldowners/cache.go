package fieldowners

import (
	"sync"

	"sigs.k8s.io/structured-merge-diff/v4/fieldpath"
)

const (
	// A generation of the cache holds this many bytes of FieldsV1, each of which
	// counts for cacheOverhead more. There are two generations: 4 MiB of bytes in
	// all, and with the sets that are made of them some 20 MiB for
	// real objects.
	cacheGeneration = 2 << 20
	cacheOverhead   = 128
	// cacheLargest is the longest FieldsV1 that is kept: one object cannot push
	// out all others.
	cacheLargest = 64 << 10
)

// parsed is shared by the whole process: objects of one kind that one controller
// writes have the same bytes.
var parsed fieldsCache

// fieldsCache remembers sets by the bytes that they were read from. What was not
// asked for while a generation filled up is forgotten. The zero value is ready.
//
// The sets are shared: nobody may insert into one, nor into what fieldpath.Set.Union
// and Difference make of one, as that has parts of it.
type fieldsCache struct {
	mu         sync.Mutex
	young, old map[string]remembered
	size       int // of young
}

type remembered struct {
	text string // of which the set has parts
	set  *fieldpath.Set
}

// parse returns the set of the fields, from the cache where it is there. Malformed
// fields are not remembered.
func (c *fieldsCache) parse(raw []byte) (*fieldpath.Set, error) {
	if set := c.find(raw); set != nil {
		return set, nil
	}
	text := string(raw)
	set, err := decodeFields(text)
	if err == nil && len(text) <= cacheLargest {
		c.keep(text, set)
	}
	return set, err
}

func (c *fieldsCache) find(raw []byte) *fieldpath.Set {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, ok := c.young[string(raw)]; ok {
		return known.set
	}
	known, ok := c.old[string(raw)]
	if ok {
		c.insert(known)
	}
	return known.set
}

func (c *fieldsCache) keep(text string, set *fieldpath.Set) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.young[text]; !ok { // another goroutine may have been faster
		c.insert(remembered{text, set})
	}
}

func (c *fieldsCache) insert(known remembered) {
	cost := len(known.text) + cacheOverhead
	if c.young == nil || c.size+cost > cacheGeneration {
		c.young, c.old, c.size = map[string]remembered{}, c.young, 0
	}
	c.young[known.text] = known
	c.size += cost
}
