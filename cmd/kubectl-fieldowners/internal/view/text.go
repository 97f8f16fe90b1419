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

// Safe returns text that cannot control a terminal: text with unprintable characters is quoted,
// with escapes.
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

// CutOff returns a line without its end if it is too wide.
func CutOff(text string, width int) string {
	runes := []rune(text)
	if width <= 0 || len(runes) <= width {
		return text
	}
	return string(runes[:max(width-1, 0)]) + "…"
}

// Wrap returns a text broken into lines between words; a width of 0 is unlimited. The lines
// after the first are indented by two more columns than indent.
func Wrap(text, indent string, width int) string {
	return Words(strings.Fields(text), width, indent, indent+"  ", "")
}

// JSON encodes a value, with escapes for characters that could control a terminal or reverse
// the direction of its lines.
func JSON(v any) ([]byte, error) {
	encoded, err := json.Marshal(v)
	return []byte(Visible(string(encoded))), err // such characters are only in strings
}

// IndentedJSON is JSON for people.
func IndentedJSON(v any) ([]byte, error) {
	encoded, err := json.MarshalIndent(v, "", "  ")
	return []byte(Visible(string(encoded)) + "\n"), err
}

// YAML encodes a value, in JSON, which is YAML too, if the YAML library would leave such
// characters unescaped.
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

// Visible returns text with JSON escapes for characters that are not printable, or would change
// the order of the characters around them. Line breaks stay. Characters beyond U+FFFF stay as
// well: none of them can control a terminal, and YAML has another escape for them than JSON.
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
