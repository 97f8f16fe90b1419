package predict

import (
	"sigs.k8s.io/structured-merge-diff/v4/fieldpath"

	"coapply.dev/fieldowners"
)

// cover is a set of fields with all that is below them.
type cover struct {
	root bool // the root, which a fieldpath.Set cannot have
	tops *fieldpath.Set
}

func newCover() *cover { return &cover{tops: fieldpath.NewSet()} }

func (c *cover) add(path fieldowners.Path) {
	c.root = c.root || path.IsRoot()
	c.tops.Insert(path.FieldPath())
}

func (c *cover) covers(path fieldowners.Path) bool {
	at := c.tops
	for _, element := range path.FieldPath() {
		if c.root || at.Members.Has(element) {
			return true
		}
		below, has := at.Children.Get(element)
		if !has {
			return false
		}
		at = below
	}
	return c.root
}
