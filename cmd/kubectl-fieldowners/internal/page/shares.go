package page

import (
	"fmt"

	"coapply.dev/cmd/kubectl-fieldowners/internal/view"
)

// shares counts the fields of an object by their owners, without the existence of maps, lists
// and list items.
type shares struct {
	Total, Shared, Nobody int
	alone, shared         map[view.OwnerItem]int
}

func sharesOf(fields []view.FieldItem) shares {
	s := shares{alone: map[view.OwnerItem]int{}, shared: map[view.OwnerItem]int{}}
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

// segment is a part of a bar.
type segment struct {
	X, Width, Text string // where it begins, how wide it is, where its letters are
	Look           string // of its colour
	Letters        string // on it, if there is room
	Title          string
}

// bar puts parts of a whole side by side.
type bar struct {
	total    int
	end      float64 // of the last segment, in hundredths of the whole
	Segments []segment
}

func (b *bar) add(n int, s segment) {
	if n == 0 || b.total == 0 {
		return
	}
	percent := func(v float64) string { return fmt.Sprintf("%.2f%%", v) }
	width := 100 * float64(n) / float64(b.total)
	s.X, s.Width, s.Text = percent(b.end), percent(width), percent(b.end+width/2)
	if width < 2.5 {
		s.Letters = ""
	}
	b.end += width
	b.Segments = append(b.Segments, s)
}
