package report

import (
	"image/color"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"coapply.dev/compare/results"
)

// colours is how many of them page.css has for arms.
const colours = 8

// Colours that stand for those of the page, which differ by day, by night and on paper: inPage turns them into names.
var (
	inkColour   = color.NRGBA{B: 1, A: 255}
	softColour  = color.NRGBA{B: 2, A: 255}
	alertColour = color.NRGBA{B: 4, A: 255}
)

// look tells an arm apart on the whole page: by colour, dashes and marker, the three of which repeat together only
// after 280 arms.
type look struct{ index int }

// Class gives its colour in the page's style.
func (l look) Class() string { return "k" + strconv.Itoa(l.index%colours) }

// ID of its swatch.
func (l look) ID() string { return "look-" + strconv.Itoa(l.index) }

func (l look) colour() color.Color { return color.NRGBA{R: 1, B: uint8(l.index % colours), A: 255} }

// faint is its colour for areas that others are drawn upon.
func (l look) faint() color.Color { return color.NRGBA{R: 2, B: uint8(l.index % colours), A: 255} }

func (l look) line() draw.LineStyle {
	dashes := [][]vg.Length{nil, {6, 2.5}, {2, 2}, {7, 2, 2, 2}, {4, 4}}
	return draw.LineStyle{Color: l.colour(), Width: 1.7, Dashes: dashes[l.index%len(dashes)]}
}

func (l look) marker() draw.GlyphStyle {
	shapes := []draw.GlyphDrawer{
		draw.CircleGlyph{}, draw.SquareGlyph{}, draw.TriangleGlyph{}, draw.RingGlyph{}, draw.CrossGlyph{}, draw.BoxGlyph{}, draw.PlusGlyph{},
	}
	return draw.GlyphStyle{Color: l.colour(), Radius: 3.2, Shape: shapes[l.index%len(shapes)]}
}

// palette gives every arm of a run its look: its place. A place without an arm is "".
type palette []string

// newPalette begins with the arms that run in most cells. An arm gets the first place whose colour no other has that runs
// in the same workload, where there is one.
func newPalette(run results.Run, all []results.Result) palette {
	var names []string
	for _, arm := range run.Arms {
		names = append(names, arm.Name)
	}
	runs, cells := map[string][]string{}, map[string]int{} // runs: the workloads of an arm
	for _, r := range all {
		names = append(names, r.Arm)
		runs[r.Arm] = append(runs[r.Arm], r.Workload)
		if !r.Control {
			cells[r.Arm]++
		}
	}
	slices.SortStableFunc(names, func(x, y string) int { return cells[y] - cells[x] })
	var p palette
	for _, name := range names {
		if !slices.Contains(p, name) {
			p = p.with(name, runs)
		}
	}
	return p
}

// with puts an arm in its place.
func (p palette) with(name string, runs map[string][]string) palette {
	var taken [colours]bool
	for i, other := range p {
		meet := slices.ContainsFunc(runs[other], func(w string) bool { return slices.Contains(runs[name], w) })
		taken[i%colours] = taken[i%colours] || meet
	}
	all := !slices.Contains(taken[:], false)
	for i := 0; ; i++ {
		if i == len(p) {
			p = append(p, "")
		}
		if p[i] == "" && (all || !taken[i%colours]) {
			p[i] = name
			return p
		}
	}
}

func (p palette) of(arm string) look { return look{max(0, slices.Index(p, arm))} }

// inPage gives the name of a colour in the page's style.
func inPage(hex string) string {
	switch hex = strings.ToUpper(hex); {
	case hex == "#000001":
		return "var(--ink)"
	case hex == "#000002":
		return "var(--soft)"
	case hex == "#000004":
		return "var(--warn)"
	case strings.HasPrefix(hex, "#01000"):
		return "var(--k" + hex[6:] + ")"
	case strings.HasPrefix(hex, "#02000"):
		return "var(--faint" + hex[6:] + ")"
	}
	return hex
}
