package ownerpage

import (
	"fmt"

	"coapply.dev/cmd/kubectl-fieldowners/internal/ownerview"
)

const (
	colours = 7 // of Okabe and Ito's palette, in page.css; black and white are the text's
	// maxHighlighted is how many managers of a page the legend can pick out: each is a
	// rule in its style.
	maxHighlighted = 40
)

// badge tells a manager apart on the whole page: by its letters, which nobody else has,
// and by a colour, which may repeat.
type badge struct {
	Letters string
	index   int
}

// Look gives the classes of its colour, and of its shape from the second round on.
func (b badge) Look() string {
	look := fmt.Sprintf("k%d", b.index%colours)
	if b.index >= colours {
		look += " round"
	}
	return look
}

// Class picks out what the manager owns.
func (b badge) Class() string { return fmt.Sprint(b.index) }

// badges gives the managers of a page their badges, in the order in which they appear.
type badges struct {
	known map[ownerview.OwnerItem]badge
}

func (b *badges) of(m ownerview.OwnerItem) badge {
	known, has := b.known[m]
	if !has {
		known = badge{Letters: letters(len(b.known)), index: len(b.known)}
		if b.known == nil {
			b.known = map[ownerview.OwnerItem]badge{}
		}
		b.known[m] = known
	}
	return known
}

// letters counts A to Z, then AA, AB and so on.
func letters(i int) string {
	text := string(rune('A' + i%26))
	if i >= 26 {
		return letters(i/26-1) + text
	}
	return text
}
