package view

import (
	"fmt"
	"io"
	"slices"
	"unicode/utf8"

	"coapply.dev/fieldowners"
)

// DiffItem is one object with its differences.
type DiffItem struct {
	APIVersion string      `json:"apiVersion"`
	Kind       string      `json:"kind"`
	Namespace  string      `json:"namespace"`
	Name       string      `json:"name"`
	OnlyIn     string      `json:"onlyIn,omitempty"` // before or after: the object exists in that version alone
	Recreated  bool        `json:"recreated,omitempty"`
	Moved      []MovedItem `json:"moved"`
	Gained     []OwnedItem `json:"gained"`
	Lost       []OwnedItem `json:"lost"`

	difference fieldowners.Difference
	with       string // the other object, if two are compared
}

// MovedItem is a field that one manager lost and another gained.
type MovedItem struct {
	Path       string    `json:"path"`
	ServerPath string    `json:"serverPath"`
	From       OwnerItem `json:"from"`
	To         OwnerItem `json:"to"`
}

// OwnedItem is a field that a manager gained or lost.
type OwnedItem struct {
	Path       string    `json:"path"`
	ServerPath string    `json:"serverPath"`
	Owner      OwnerItem `json:"owner"`
}

// NewDiffItem describes the difference of two versions of an object, one of which may
// be nil.
func NewDiffItem(before, after *Object, d fieldowners.Difference) DiffItem {
	o := after
	item := DiffItem{Moved: []MovedItem{}, Gained: ownedItems(d.Gained), Lost: ownedItems(d.Lost), difference: d}
	switch {
	case after == nil:
		o, item.OnlyIn = before, "before"
	case before == nil:
		item.OnlyIn = "after"
	default:
		item.Recreated = before.UID != after.UID && before.UID != "" && after.UID != "" && before.Name == after.Name
	}
	if before != nil && after != nil && before.String() != after.String() {
		item.with = before.String()
	}
	item.APIVersion, item.Kind, item.Namespace, item.Name = o.APIVersion, o.Kind, o.Namespace, o.Name
	for _, m := range d.Moved {
		item.Moved = append(item.Moved, MovedItem{m.Path.String(), m.Path.ServerString(), Owner(m.From), Owner(m.To)})
	}
	return item
}

func ownedItems(all []fieldowners.Owned) []OwnedItem {
	items := []OwnedItem{}
	for _, o := range all {
		items = append(items, OwnedItem{o.Path.String(), o.Path.ServerString(), Owner(o.Manager)})
	}
	return items
}

// Owner returns a manager as an owner of fields.
func Owner(m fieldowners.Manager) OwnerItem {
	return OwnerItem{Name: m.Name, Operation: m.Operation, Subresource: m.Subresource}
}

// OwnersOf returns managers as owners of fields, each once, whatever the apiVersions of its entries.
func OwnersOf(managers []fieldowners.Manager) []OwnerItem {
	owners := []OwnerItem{}
	for _, m := range managers {
		if owner := Owner(m); !slices.Contains(owners, owner) {
			owners = append(owners, owner)
		}
	}
	return owners
}

// Difference writes what differs of one object, a line a field.
func (s Screen) Difference(w io.Writer, item DiffItem) {
	heading := Ref{Kind: item.Kind, Namespace: item.Namespace, Name: item.Name}.String()
	switch {
	case item.with != "":
		heading = item.with + " and " + heading + ", which are two objects"
	case item.OnlyIn != "":
		heading += ": only in the version " + item.OnlyIn
	case item.Recreated:
		heading += ": deleted and created again in between (another uid)"
	}
	fmt.Fprintln(w, s.Palette.Strong(heading))
	for path, text := range item.difference.All() {
		s.finding(w, Safe(path.String()), Safe(text))
	}
}

// finding writes a field and what happened to it, on two lines if one is too short.
func (s Screen) finding(w io.Writer, path, text string) {
	gap := " "
	if s.Width > 0 && utf8.RuneCountInString(path)+utf8.RuneCountInString(text)+4 > s.Width {
		gap = "\n      "
	}
	fmt.Fprintln(w, "  "+path+":"+gap+text)
}
