package owneraudit

import "hash/maphash"

// scan finds the fields that FieldsV1 names. It is for text that fieldowners.Parse has
// accepted, and checks nothing.
//
// To list the paths of every entry as Entry.Fields does takes most of the time of an
// audit, and to count them, and to see which are the same, no path is needed: a hash
// of it is. The API server spells a path element in one way only.
type scan struct {
	text   []byte
	at     int
	found  []scanned
	holder int
}

// scanned is one field that an entry names.
type scanned struct {
	path   uint64 // its hash
	holder int    // whose entry it is
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

// more goes to the next key of an object, or past its end.
func (s *scan) more() bool {
	c := s.next()
	if c == ',' {
		c = s.next()
	}
	return c == '"'
}

// next goes past the next character that is no white space, and returns it.
func (s *scan) next() byte {
	for {
		c := s.text[s.at]
		s.at++
		if c > ' ' {
			return c
		}
	}
}

// key reads to the end of a string, behind its first quote.
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
