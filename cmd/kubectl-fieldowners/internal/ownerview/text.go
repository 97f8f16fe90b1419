package ownerview

import (
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/duration"
)

// Safe returns text that cannot steer a terminal: what holds anything but printable
// characters comes quoted, with escapes.
func Safe(text string) string {
	if !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(text)
	}
	return text
}

// Age returns how long ago something was, as kubectl does; "<unknown>" without a time.
func Age(then, now time.Time) string {
	if then.IsZero() {
		return "<unknown>"
	}
	return duration.HumanDuration(now.Sub(then))
}

// Shorten cuts the middle out of a text that is wider than a column; a width of 0 is
// unlimited. The end says most of a path.
func Shorten(text string, width int) string {
	runes := []rune(text)
	if width <= 0 || len(runes) <= width {
		return text
	}
	if width < 4 {
		return string(runes[:width])
	}
	tail := (width - 1) * 2 / 3
	head := width - 1 - tail
	return string(runes[:head]) + "…" + string(runes[len(runes)-tail:])
}

// CutOff cuts the end off a line that is too wide.
func CutOff(text string, width int) string {
	runes := []rune(text)
	if width <= 0 || len(runes) <= width {
		return text
	}
	return string(runes[:max(width-1, 0)]) + "…"
}

// Wrap breaks a text into lines between words, for a screen; a width of 0 is unlimited.
// The lines after the first are indented by two more columns than indent.
func Wrap(text, indent string, width int) string {
	var lines []string
	line := indent
	for word := range strings.FieldsSeq(text) {
		switch n := utf8.RuneCountInString(line) + 1 + utf8.RuneCountInString(word); {
		case strings.TrimSpace(line) == "":
			line += word
		case width > 0 && n > width:
			lines = append(lines, line)
			line = indent + "  " + word
		default:
			line += " " + word
		}
	}
	return strings.Join(append(lines, line), "\n")
}
