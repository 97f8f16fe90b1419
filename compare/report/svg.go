package report

import (
	"bytes"
	"fmt"
	"html/template"
	"regexp"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Size of a chart. It is that of a phone, where it is shown as it is; elsewhere it grows.
const (
	chartWidth  vg.Length = 360
	chartHeight vg.Length = 250
)

// chart is a picture with its words.
type chart struct {
	ID, Title, Text string
	Width, Height   float64
	// SVG is what gonum drew, between the tags; there is no text in it but numbers and words of this package.
	SVG    template.HTML
	Legend []armName
	Note   string
	Data   table
}

// newPlot gives an empty plot in the style of the page.
func newPlot(x, y string) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	sans := font.Font{Typeface: "Liberation", Variant: "Sans", Size: 11}
	p.X.Label.Text, p.Y.Label.Text = x, y
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Label.TextStyle.Font, axis.Label.TextStyle.Color = sans, inkColour
		axis.Tick.Label.Font, axis.Tick.Label.Color = sans, inkColour
		axis.LineStyle.Color, axis.Tick.Color = softColour, softColour
	}
	return p
}

// inline draws a plot as the content of an svg element.
func inline(p *plot.Plot) (template.HTML, error) {
	canvas := vgsvg.New(chartWidth, chartHeight)
	p.Draw(draw.Crop(draw.New(canvas), 0, -14, 0, -5)) // room for half of the last label of an axis
	return content(canvas)
}

var (
	styles   = regexp.MustCompile(`\s*style="([^"]*)"`)
	comments = regexp.MustCompile(`(?s)<!--.*?-->`)
)

// content takes what is between the tags of an SVG document. The page's policy allows no style attributes, so they
// become attributes of their own; fonts are those of the page.
func content(canvas *vgsvg.Canvas) (template.HTML, error) {
	var out bytes.Buffer
	if _, err := canvas.WriteTo(&out); err != nil {
		return "", fmt.Errorf("draw a chart: %w", err)
	}
	_, inner, begun := strings.Cut(out.String(), "<svg ")
	_, inner, opened := strings.Cut(inner, ">")
	inner, _, closed := strings.Cut(inner, "</svg>")
	if !begun || !opened || !closed {
		return "", fmt.Errorf("draw a chart: gonum gave no SVG document")
	}
	inner = styles.ReplaceAllStringFunc(comments.ReplaceAllString(inner, ""), func(style string) string {
		var attributes strings.Builder
		for property := range strings.SplitSeq(styles.FindStringSubmatch(style)[1], ";") {
			name, value, _ := strings.Cut(property, ":")
			if name = strings.TrimSpace(name); name == "" || strings.HasPrefix(name, "font-") && name != "font-size" {
				continue
			}
			fmt.Fprintf(&attributes, ` %s="%s"`, name, inPage(strings.TrimSpace(value)))
		}
		return attributes.String()
	})
	return template.HTML(inner), nil //nolint:gosec // gonum wrote it, and escaped what text there is
}

// swatch is the line and the marker of an arm, for legends.
type swatch struct {
	ID  string
	SVG template.HTML
}

func swatches(p palette) ([]swatch, error) {
	var all []swatch
	for i, arm := range p {
		if arm == "" {
			continue
		}
		canvas := vgsvg.New(30, 12)
		on := draw.New(canvas)
		l := look{i}
		on.StrokeLine2(l.line(), 1, 6, 29, 6)
		on.DrawGlyph(l.marker(), vg.Point{X: 15, Y: 6})
		svg, err := content(canvas)
		if err != nil {
			return nil, err
		}
		all = append(all, swatch{l.ID(), svg})
	}
	return all, nil
}
