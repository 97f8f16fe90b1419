package fieldowners

import (
	"sync"

	"sigs.k8s.io/structured-merge-diff/v4/fieldpath"
)

const (
	// A generation of the cache holds this many bytes of FieldsV1, with cacheOverhead added for
	// each entry. There are two generations: 4 MiB of FieldsV1 in all, and with the parsed sets
	// some 20 MiB for real objects.
	cacheGeneration = 2 << 20
	cacheOverhead   = 128
	// cacheLargest is the longest FieldsV1 that is kept: one object cannot push
	// out all others.
	cacheLargest = 64 << 10
)

// parsed is shared by the whole process, as objects of one kind that one controller writes
// often have the same FieldsV1.
var parsed fieldsCache

// fieldsCache remembers parsed sets by their FieldsV1. A set that was not used while a
// generation filled up is forgotten. The zero value is ready.
//
// The sets are shared: do not insert into one, nor into a result of fieldpath.Set.Union or
// Difference, which has parts of it.
type fieldsCache struct {
	mu         sync.Mutex
	young, old map[string]remembered
	size       int // of young
}

type remembered struct {
	text string // the set refers to parts of it
	set  *fieldpath.Set
}

// parse returns the set of the fields, from the cache if it is there. Malformed fields are not
// remembered.
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
