package ownerview

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"coapply.dev/fieldowners"
)

func (l Line) owned() bool { return len(l.Owners)+len(l.Item) > 0 || l.Nobody }

// owners returns the comment of a line: who owns the field, by which operation and since
// when; in parentheses who owns that a map, a list or a list item exists. On a screen
// without room for all it gives the names alone, then counts those left out.
func (s Screen) owners(labels labels, l Line, room int) string {
	label, most := labels.detailed, len(l.Owners)+len(l.Item)
	fits := func() bool {
		return s.Width == 0 || utf8.RuneCountInString(comment(l, most, label)) <= room
	}
	if !fits() {
		label = labels.of
	}
	for most > 1 && !fits() {
		most--
	}
	if l.Nobody {
		return s.Palette.Faint(comment(l, most, label))
	}
	return comment(l, most, func(m fieldowners.Manager) string { return s.Palette.manager(labels.index(m), label(m)) })
}

// comment names so many of a line's owners at most.
func comment(l Line, most int, label func(fieldowners.Manager) string) string {
	owned, left := names(l.Owners, most, label)
	item, leftOfItem := names(l.Item, most-len(l.Owners), label)
	switch {
	case l.Nobody:
		owned = "nobody"
	case l.Existence:
		owned = "(" + owned + ")"
	}
	if item != "" {
		owned = strings.TrimSpace(owned + " (item: " + item + ")")
	}
	if left += leftOfItem; left > 0 {
		owned += fmt.Sprintf(" +%d", left)
	}
	return owned
}

// names returns the first of the managers, and how many others there are.
func names(managers []fieldowners.Manager, most int, label func(fieldowners.Manager) string) (names string, left int) {
	shown := managers[:max(min(most, len(managers)), 0)]
	var texts []string
	for _, m := range shown {
		texts = append(texts, label(m))
	}
	return strings.Join(texts, ", "), len(managers) - len(shown)
}
