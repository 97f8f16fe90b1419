package owneraudit

import "hash/maphash"

// scan returns the fields that FieldsV1 names, as hashes. The text must have been accepted by
// fieldowners.Parse: nothing is checked.
//
// Entry.Fields for every entry would take most of the time of an audit, and hashes of paths
// suffice to count fields and to compare them: the API server spells a path element in one way
// only.
type scan struct {
	text   []byte
	at     int
	found  []scanned
	holder int
}

// scanned is one field that an entry names.
type scanned struct {
	path   uint64 // its hash
	holder int    // the number of the entry's manager
	leaf   bool   // the entry names nothing below it
}

var seed = maphash.MakeSeed()

// add appends the fields of one entry.
func (s *scan) add(fieldsV1 []byte, holder int) {
	s.text, s.at, s.holder = fieldsV1, 0, holder
	s.next()
	for s.more() {
		s.field(0)
	}
}

// field reads `"key": {...}` below a path.
func (s *scan) field(parent uint64) (isSelf bool) {
	key := s.key()
	isSelf = string(key) == "."
	path := mix(parent, maphash.Bytes(seed, key))
	s.next() // :
	s.next() // {
	named, leaf := false, true
	for s.more() {
		if s.field(path) {
			named = true
		} else {
			leaf = false
		}
	}
	if !isSelf && (named || leaf) {
		s.found = append(s.found, scanned{path, s.holder, leaf})
	}
	return isSelf
}

// more skips to the next key of an object and returns true, or past the object's end.
func (s *scan) more() bool {
	c := s.next()
	if c == ',' {
		c = s.next()
	}
	return c == '"'
}

// next skips white space and returns the next character.
func (s *scan) next() byte {
	for {
		c := s.text[s.at]
		s.at++
		if c > ' ' {
			return c
		}
	}
}

// key returns the rest of a string, after its first quote.
func (s *scan) key() []byte {
	start := s.at
	for ; s.text[s.at] != '"'; s.at++ {
		if s.text[s.at] == '\\' {
			s.at++
		}
	}
	s.at++
	return s.text[start : s.at-1]
}

// mix returns the hash of a path from that of its parent and that of its last element.
func mix(parent, element uint64) uint64 {
	mixed := (parent ^ element) * 0x9e3779b97f4a7c15
	return mixed ^ mixed>>29
}
