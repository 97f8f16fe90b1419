package report

import (
	"fmt"
	"math"
	"slices"

	"coapply.dev/compare/results"
)

// heatmap shows the goodput of an arm as a multiple of the baseline's, over writers and managers.
type heatmap struct {
	ID, Title, Text string
	Width, Height   float64
	Columns, Rows   []axisLabel
	Tiles           []tile
	Data            table
}

type axisLabel struct {
	At   float64
	Text string
}

// tile is a cell of the map. Class is its colour, -3 to 3 steps of ratio; Hatched says that no difference was shown.
type tile struct {
	X, Y    float64
	Class   string
	Hatched bool
	Lines   []tileLine
}

type tileLine struct {
	X, Y        float64
	Class, Text string
}

const (
	tileWidth, tileHeight   = 80.0, 52.0
	heatmapLeft, heatmapTop = 48.0, 40.0
)

// heatmaps gives those of every workload that was measured over writers and managers: who is ahead, then each of the
// arms that apply.
func (b *builder) heatmaps() []heatmap {
	var maps []heatmap
	for _, workload := range grouped(b.results.Cells) {
		for _, cells := range b.planes(workload) {
			maps = append(maps, b.winnerMap(workload.Name, cells))
			for _, arm := range []string{"ssa", "apply"} {
				if m, some := b.ratioMap(workload.Name, arm, cells); some {
					maps = append(maps, m)
				}
			}
		}
	}
	return maps
}

// planes gives the cells that differ by writers and managers alone, if both are varied somewhere.
func (b *builder) planes(workload *workloadGroup) [][]*cellGroup {
	var keys []cellKey
	by := map[cellKey][]*cellGroup{}
	for _, c := range workload.Cells {
		if b.baseline(c.Key) == "" { // the cell of the controls
			continue
		}
		key := c.Key.sweep()
		key.Managers = 0
		if by[key] == nil {
			keys = append(keys, key)
		}
		by[key] = append(by[key], c)
	}
	var planes [][]*cellGroup
	for _, key := range keys {
		if len(by[key]) > 1 {
			planes = append(planes, by[key])
		}
	}
	return planes
}

func (b *builder) winnerMap(workload string, cells []*cellGroup) heatmap {
	m := b.newHeatmap(workload+": highest goodput", "The arm with the highest goodput among those that lost nothing, and its ratio to the baseline. Hatched: it was not shown to differ from the baseline. Whether it differs from the second is not said: compare the intervals below."+deepens, cells)
	m.Data.Columns = columns("writers", "#managers", "ahead", "ratio", "word")
	for _, cell := range cells {
		best, found := b.best(cell)
		name, word := best.Arm, best.Word
		if !found {
			name, word = na, "no verdict"
		}
		m.put(cell, best, found, twoLines(name), ratioText(best, found))
		m.Data.add("", plural(cell.Key.Writers, "writer"), count(cell.Key.Managers), name, ratioText(best, found), word)
	}
	return m
}

const deepens = " The colour deepens at 5 %, at 1.5 times and at twice."

// noVerdict is the word of a comparison that counts for nothing.
const noVerdict = "no verdict"

// othersBehind is what is said of a baseline that every other arm was shown to be slower than, or lost updates.
const othersBehind = "others slower or lossy"

// best gives the comparison of the arm with the highest ratio, the baseline itself being 1. An arm that lost updates is
// not ahead, however fast it lost them.
func (b *builder) best(cell *cellGroup) (results.Comparison, bool) {
	baseline := b.baseline(cell.Key)
	best, found := results.Comparison{Arm: baseline, Baseline: baseline, Ratio: 1, Word: othersBehind}, false
	for _, r := range cell.Results {
		c, compared := b.comparison(cell.Key, r.Arm)
		if !compared || !drawable(c) || c.Word == noVerdict {
			continue
		}
		found = true
		if lost(cell, r.Arm) {
			continue
		}
		if c.Word != "slower" && best.Word == othersBehind {
			best.Word = "no difference shown"
		}
		if c.Ratio > best.Ratio {
			best = c
		}
	}
	return best, found && !lost(cell, best.Arm)
}

func (b *builder) ratioMap(workload, arm string, cells []*cellGroup) (heatmap, bool) {
	m := b.newHeatmap(fmt.Sprintf("%s: %s against the baseline", workload, arm),
		"Ratio of goodput. Blue: "+arm+" is ahead; orange: the baseline is. Hatched: no difference shown, or no verdict."+deepens, cells)
	m.Data.Columns = columns("writers", "#managers", "#ratio", "#log2 of it", "95 % interval", "word")
	some := false
	for _, cell := range cells {
		c, found := b.comparison(cell.Key, arm)
		if !found {
			continue
		}
		some = true
		m.put(cell, c, drawable(c), []string{ratioText(c, drawable(c))}, wordText(c.Word, lost(cell, arm)))
		m.Data.add("", plural(cell.Key.Writers, "writer"), count(cell.Key.Managers), ratioText(c, drawable(c)), logText(c), rangeText(c), either(c.Word))
	}
	return m, some
}

func (b *builder) newHeatmap(title, text string, cells []*cellGroup) heatmap {
	if len(cells) > 0 && cells[0].Key.Objects > 1 {
		title += ", " + plural(cells[0].Key.Objects, "object")
	}
	m := heatmap{ID: b.nextID(), Title: title, Text: text, Data: table{Title: title}}
	for i, n := range levels(cells, func(k cellKey) int { return k.Managers }) {
		m.Columns = append(m.Columns, axisLabel{heatmapLeft + tileWidth*(float64(i)+.5), count(n)})
	}
	for i, n := range levels(cells, func(k cellKey) int { return k.Writers }) {
		m.Rows = append(m.Rows, axisLabel{heatmapTop + tileHeight*(float64(i)+.5) + 4, count(n)})
	}
	m.Width = heatmapLeft + tileWidth*float64(len(m.Columns)) + 4
	m.Height = heatmapTop + tileHeight*float64(len(m.Rows)) + 4
	return m
}

func levels(cells []*cellGroup, of func(cellKey) int) []int {
	var all []int
	for _, c := range cells {
		all = append(all, of(c.Key))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// put adds a tile. Its place is that of its labels.
func (m *heatmap) put(cell *cellGroup, c results.Comparison, shown bool, big []string, small string) {
	x := slices.IndexFunc(m.Columns, func(l axisLabel) bool { return l.Text == count(cell.Key.Managers) })
	y := slices.IndexFunc(m.Rows, func(l axisLabel) bool { return l.Text == count(cell.Key.Writers) })
	t := tile{X: heatmapLeft + tileWidth*float64(x), Y: heatmapTop + tileHeight*float64(y), Class: "step-more-0", Hatched: true}
	at := t.Y + tileHeight/2 - 7.5*float64(len(big)) + 4
	for _, line := range big {
		t.Lines = append(t.Lines, tileLine{t.X + tileWidth/2, at, "big", shorten(line, 12)})
		at += 15
	}
	t.Lines = append(t.Lines, tileLine{t.X + tileWidth/2, at, "small", shorten(small, 14)})
	if shown {
		t.Class = step(c.Ratio)
		t.Hatched = !slices.Contains([]string{"faster", "slower", "equivalent", othersBehind}, c.Word)
	}
	m.Tiles = append(m.Tiles, t)
}

// step gives the colour of a ratio: beyond 5 %, 1.5 times, and twice.
func step(ratio float64) string {
	size := math.Abs(math.Log2(ratio))
	steps := 0
	for _, bound := range []float64{math.Log2(1.05), math.Log2(1.5), 1} {
		if size > bound {
			steps++
		}
	}
	if ratio < 1 {
		return fmt.Sprintf("step-less-%d", steps)
	}
	return fmt.Sprintf("step-more-%d", steps)
}

// twoLines breaks a name that is too long for a tile at the hyphen nearest to its middle.
func twoLines(name string) []string {
	if len(name) <= 11 {
		return []string{name}
	}
	at := -1
	for i := range len(name) - 1 {
		if name[i] == '-' && (at < 0 || abs(2*i-len(name)) < abs(2*at-len(name))) {
			at = i
		}
	}
	if at < 0 {
		return []string{name}
	}
	return []string{name[:at+1], name[at+1:]}
}

func abs(n int) int { return max(n, -n) }

// lost tells whether an arm lost updates in a cell.
func lost(cell *cellGroup, arm string) bool {
	return slices.ContainsFunc(cell.Results, func(r results.Result) bool { return r.Arm == arm && r.LostUpdates > 0 })
}

// wordText is a word as short as a tile.
func wordText(word string, lost bool) string {
	switch {
	case lost:
		return "lost updates"
	case word == "no difference shown":
		return "none shown"
	}
	return word
}

func shorten(text string, length int) string {
	if runes := []rune(text); len(runes) > length {
		return string(runes[:length-1]) + "…"
	}
	return text
}
