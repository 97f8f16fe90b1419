package view

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/yaml"
)

// Safe returns text that cannot control a terminal. If the text has unprintable characters, Safe
// returns it in quotes, with escapes for these characters.
func Safe(text string) string {
	if !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(text)
	}
	return text
}

// Age returns the time from then to now as text, in kubectl's format. It returns "<unknown>" if then is zero.
func Age(then, now time.Time) string {
	if then.IsZero() {
		return "<unknown>"
	}
	return duration.HumanDuration(now.Sub(then))
}

// CutOff truncates a line to the given width in characters, including a final "…". A width of 0 means no limit.
func CutOff(text string, width int) string {
	runes := []rune(text)
	if width <= 0 || len(runes) <= width {
		return text
	}
	return string(runes[:max(width-1, 0)]) + "…"
}

// Wrap breaks a text between words into lines of at most width columns; a width of 0 means no limit.
// The first line begins with indent, and the other lines with two more spaces.
func Wrap(text, indent string, width int) string {
	return Words(strings.Fields(text), width, indent, indent+"  ", "")
}

// JSON encodes a value as JSON, with escapes for characters that could control a terminal or reverse
// the direction of its text.
func JSON(v any) ([]byte, error) {
	encoded, err := json.Marshal(v)
	return []byte(Visible(string(encoded))), err // only strings have characters to escape
}

// IndentedJSON encodes a value as JSON does, with line breaks and indentation.
func IndentedJSON(v any) ([]byte, error) {
	encoded, err := json.MarshalIndent(v, "", "  ")
	return []byte(Visible(string(encoded)) + "\n"), err
}

// YAML encodes a value as YAML. The YAML library does not escape all characters that JSON escapes. If the value has
// such characters, YAML returns JSON, which is also valid YAML.
func YAML(v any) ([]byte, error) {
	encoded, err := JSON(v)
	if err != nil {
		return nil, err
	}
	text, err := yaml.JSONToYAML(encoded)
	if err != nil || bytes.ContainsFunc(text, hides) {
		return append(encoded, '\n'), err
	}
	return text, nil
}

// Visible returns text with JSON escapes for characters that are unprintable or change the direction of text. It
// keeps line breaks, tabs and characters above U+FFFF. Characters above U+FFFF cannot control a terminal, and YAML
// escapes them differently from JSON.
func Visible(text string) string {
	var b strings.Builder
	for _, r := range text {
		if hides(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func hides(r rune) bool { return !unicode.IsPrint(r) && r != '\t' && r != '\n' && r <= 0xffff }
