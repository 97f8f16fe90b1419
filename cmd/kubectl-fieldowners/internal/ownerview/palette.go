package ownerview

import "github.com/fatih/color"

// okabeIto are the colours of Okabe and Ito's palette that stand out on light and
// dark grounds, as near as the 256 colours of a terminal come. They differ for
// people with any of the common colour blindnesses, and a name stands beside each.
var okabeIto = []color.Attribute{33, 208, 36, 170, 166, 75, 178}

// Palette colours the managers of an object; the zero value colours nothing.
type Palette struct {
	Enabled bool
}

func (p Palette) manager(index int, text string) string {
	attributes := []color.Attribute{38, 5, okabeIto[max(index, 0)%len(okabeIto)]}
	if index >= len(okabeIto) {
		attributes = append(attributes, color.Bold)
	}
	return p.paint(text, attributes...)
}

// Faint shows text in the background.
func (p Palette) Faint(text string) string { return p.paint(text, color.Faint) }

// Strong shows text in the foreground.
func (p Palette) Strong(text string) string { return p.paint(text, color.Bold) }

func (p Palette) paint(text string, attributes ...color.Attribute) string {
	if !p.Enabled || text == "" {
		return text
	}
	c := color.New(attributes...)
	c.EnableColor()
	return c.Sprint(text)
}
