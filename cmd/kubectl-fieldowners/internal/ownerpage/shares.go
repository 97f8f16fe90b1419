package ownerpage

import (
	"fmt"

	"coapply.dev/cmd/kubectl-fieldowners/internal/ownerview"
)

// shares counts the fields of an object by their owners, without the existence of maps, lists
// and list items.
type shares struct {
	Total, Shared, Nobody int
	alone, shared         map[ownerview.OwnerItem]int
}

func sharesOf(fields []ownerview.FieldItem) shares {
	s := shares{alone: map[ownerview.OwnerItem]int{}, shared: map[ownerview.OwnerItem]int{}}
	for _, field := range fields {
		switch {
		case field.Existence:
			continue
		case len(field.Owners) == 0:
			s.Nobody++
		case len(field.Owners) == 1:
			s.alone[field.Owners[0]]++
		default:
			s.Shared++
			for _, m := range field.Owners {
				s.shared[m]++
			}
		}
		s.Total++
	}
	return s
}

// Owned returns the number of fields with exactly one owner.
func (s shares) Owned() int { return s.Total - s.Shared - s.Nobody }

// segment is a part of a bar, in hundredths of its width.
type segment struct {
	from, width float64
	Look        string // of its colour
	Letters     string // shown on it if there is room
	Title       string
}

// X returns where the segment begins.
func (s segment) X() string { return percent(s.from) }

// Width returns the width of the segment.
func (s segment) Width() string { return percent(s.width) }

// Text returns the position of its letters.
func (s segment) Text() string { return percent(s.from + s.width/2) }

func percent(v float64) string { return fmt.Sprintf("%.2f%%", v) }

// bar is segments side by side.
type bar struct {
	total    int
	Segments []segment
}

func (b *bar) add(n int, s segment) {
	if n == 0 || b.total == 0 {
		return
	}
	if last := len(b.Segments) - 1; last >= 0 {
		s.from = b.Segments[last].from + b.Segments[last].width
	}
	s.width = 100 * float64(n) / float64(b.total)
	if s.width < 2.5 {
		s.Letters = ""
	}
	b.Segments = append(b.Segments, s)
}
