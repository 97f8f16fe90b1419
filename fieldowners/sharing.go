package fieldowners

import (
	"bytes"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v4/fieldpath"
)

// sharing decides which entries share a field with ours. As a cache asks at each event, entries
// without one of our outermost field names, such as most entries for a status, are not parsed.
type sharing struct {
	ours  []metav1.ManagedFieldsEntry
	outer [][]byte // outermost names of ours; nil if one of them is not known
	sets  []*fieldpath.Set
}

func newSharing(ours []metav1.ManagedFieldsEntry) *sharing {
	s := &sharing{ours: ours}
	for _, entry := range ours {
		names, ok := outerNames(rawFields(entry), s.outer)
		if !ok {
			s.outer = nil
			break
		}
		s.outer = names
	}
	return s
}

// with reports whether an entry shares a field with one of ours, or cannot be judged.
func (s *sharing) with(theirs metav1.ManagedFieldsEntry) bool {
	for _, our := range s.ours {
		if our.APIVersion != theirs.APIVersion {
			return true // the same field may have another name in that version
		}
	}
	if s.apart(theirs) {
		return false
	}
	entry, err := parseEntry(theirs)
	if err != nil || !s.parse() {
		return true
	}
	return slices.ContainsFunc(s.sets, func(our *fieldpath.Set) bool { return overlap(our, entry.fields) })
}

// apart reports whether an entry has none of our outermost names.
func (s *sharing) apart(theirs metav1.ManagedFieldsEntry) bool {
	var few [8][]byte
	names, ok := outerNames(rawFields(theirs), few[:0])
	return ok && s.outer != nil && !slices.ContainsFunc(names, func(name []byte) bool {
		return slices.ContainsFunc(s.outer, func(our []byte) bool { return bytes.Equal(our, name) })
	})
}

// parse reads our own entries, once. It returns false if one of them is malformed.
func (s *sharing) parse() bool {
	for len(s.sets) < len(s.ours) {
		entry, err := parseEntry(s.ours[len(s.sets)])
		if err != nil {
			return false
		}
		s.sets = append(s.sets, entry.fields)
	}
	return true
}

// overlap reports whether both sets have the same field, or one has a field as a whole of which
// the other has a part: a field without fields of the set below it means all below.
func overlap(a, b *fieldpath.Set) bool {
	return covers(a, b) || covers(b, a) || deeper(a, b)
}

// covers is overlap for one level.
func covers(a, b *fieldpath.Set) (found bool) {
	a.Members.Iterate(func(name fieldpath.PathElement) {
		if found || b.Members.Has(name) {
			found = true
			return
		}
		_, parts := a.Children.Get(name)
		_, theirs := b.Children.Get(name)
		found = theirs && !parts
	})
	return found
}

func deeper(a, b *fieldpath.Set) (found bool) {
	a.Children.Iterate(func(name fieldpath.PathElement) {
		if found {
			return
		}
		if below, ok := b.Children.Get(name); ok {
			own, _ := a.Children.Get(name)
			found = overlap(own, below)
		}
	})
	return found
}

// rawFields returns the FieldsV1; nil if there is none, or for an unknown FieldsType.
func rawFields(entry metav1.ManagedFieldsEntry) []byte {
	if entry.FieldsType != "FieldsV1" {
		return nil
	}
	return entry.FieldsV1.GetRawBytes()
}

// outerNames appends the keys of the outermost object. ok is false if a key has escapes or
// braces do not match. Nothing else of the text is checked: it may be malformed though ok is
// true.
func outerNames(raw []byte, names [][]byte) (_ [][]byte, ok bool) {
	depth := 0
	for at := 0; at < len(raw); at++ {
		switch raw[at] {
		case '{':
			depth++
		case '}':
			depth--
		case '"':
			end := stringEnd(raw, at+1)
			if end == -1 {
				return nil, false
			}
			if depth == 1 {
				if bytes.IndexByte(raw[at:end], '\\') >= 0 {
					return nil, false
				}
				names = append(names, raw[at+1:end])
			}
			at = end
		}
	}
	return names, depth == 0 && len(raw) > 0 && raw[0] == '{'
}

// stringEnd returns the index of the quote that ends a string; -1 if there is none.
func stringEnd(raw []byte, at int) int {
	for ; at < len(raw); at++ {
		switch raw[at] {
		case '\\':
			at++
		case '"':
			return at
		}
	}
	return -1
}
