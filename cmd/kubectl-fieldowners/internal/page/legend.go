package page

import (
	"fmt"

	"coapply.dev/cmd/kubectl-fieldowners/internal/view"
)

// shares counts the fields of an object by their owners. It ignores a map, list or list item if managers own only its
// existence (the entry "." in managed fields).
type shares struct {
	Total, Shared, Nobody int
	alone, shared         map[view.OwnerItem]int // the numbers of fields that each owner owns alone, and shares with other owners
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

// segment is one coloured part of a bar. X, Width and Text are percentages of the bar's full width.
type segment struct {
	X, Width, Text string // the left edge of the segment, its width, and the horizontal position of its letters
	Look           string // the CSS classes for the segment's colour
	Letters        string // the letters of the manager; empty if the segment is too narrow
	Title          string // the tooltip
}

// bar is a horizontal bar of adjacent segments. The width of each segment is proportional to a count.
type bar struct {
	total    int     // the count for which a bar has the full width
	end      float64 // where the last segment ends, in percent of the full width
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

// manager is a row of the legend: one manager of an object, with the counts of its fields.
type manager struct {
	badge
	view.ManagerItem

	Written, Age string // empty if the time is not recorded

	Again  bool // an earlier row has the same manager with another apiVersion
	Alone  int  // the number of fields that only this manager owns
	Shared int  // the number of fields that this manager shares with other managers
	Share  bar  // the bar with a segment for Alone and a segment for Shared
}

// managersOf returns the rows of the legend. The manager with the most fields has the longest bar.
func managersOf(known badges, about About, items []view.ManagerItem, s shares) []manager {
	var rows []manager
	seen := map[view.OwnerItem]bool{}
	longest := 0
	for _, item := range items {
		owner := item.OwnerItem
		longest = max(longest, s.alone[owner]+s.shared[owner])
	}
	for _, item := range items {
		owner := item.OwnerItem
		row := manager{
			badge: known.of(owner), ManagerItem: item, Again: seen[owner],
			Alone: s.alone[owner], Shared: s.shared[owner], Share: bar{total: longest},
		}
		row.Name, row.Subresource = safe(item.Name), safe(item.Subresource)
		row.APIVersion = safe(item.APIVersion)
		if item.Time != nil {
			row.Written, row.Age = about.Stamp(*item.Time), about.Age(*item.Time)
		}
		row.Share.add(row.Alone, segment{Look: row.Look()})
		row.Share.add(row.Shared, segment{Look: row.Look() + " many"})
		seen[owner] = true
		rows = append(rows, row)
	}
	return rows
}

// bar returns the bar of all fields of an object. Its segments are the fields that each manager
// owns alone, then the shared fields, and then the fields without an owner.
func (s shares) bar(managers []manager) bar {
	b := bar{total: s.Total}
	for _, m := range managers {
		if m.Again {
			continue
		}
		b.add(m.Alone, segment{Look: m.Look(), Letters: m.Letters, Title: fmt.Sprintf("%s: sole owner of %s", m.Name, plural(m.Alone, "field"))})
	}
	b.add(s.Shared, segment{Look: "many", Title: plural(s.Shared, "shared field")})
	b.add(s.Nobody, segment{Look: "nobody", Letters: "–", Title: plural(s.Nobody, "field") + " of nobody"})
	return b
}

const (
	colours = 7 // the colours of Okabe and Ito's palette in page.css, without black and white
	// maxHighlighted is the maximum number of managers with a CSS rule that highlights their fields.
	maxHighlighted = 40
)

// badge identifies a manager on the page by letters and a colour. The letters are unique. The colours repeat if there
// are more managers than colours.
type badge struct {
	Letters string
	index   int // the number of the badge on its page, from 0
}

// Look returns the CSS classes of the badge: its colour and, if the colour repeats, a round shape.
func (b badge) Look() string {
	look := fmt.Sprintf("k%d", b.index%colours)
	if b.index >= colours {
		look += " round"
	}
	return look
}

// Class returns the suffix of the CSS class that marks the lines of fields owned by the manager.
func (b badge) Class() string { return fmt.Sprint(b.index) }

// badges maps each manager on a page to its badge. The managers are lettered A, B, C and so on, in the order of their
// first appearance on the page.
type badges map[view.OwnerItem]badge

func (b badges) of(m view.OwnerItem) badge {
	if _, has := b[m]; !has {
		b[m] = badge{Letters: letters(len(b)), index: len(b)}
	}
	return b[m]
}

// letters returns the letters of the i-th badge: A to Z, then AA, AB and so on.
func letters(i int) string {
	text := string(rune('A' + i%26))
	if i >= 26 {
		return letters(i/26-1) + text
	}
	return text
}
