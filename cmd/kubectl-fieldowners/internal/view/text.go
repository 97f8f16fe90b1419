package view

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/yaml"

	"coapply.dev/internal/wrap"
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

// Shorten returns a text without its middle if it is wider than a column; a width of 0 is
// unlimited. The end of a path says most.
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
	return wrap.Words(strings.Fields(text), width, indent, indent+"  ", "")
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
	encoded, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	encoded = []byte(escaped(string(encoded), escapeOfYAML)) // YAML allows no control characters
	text, err := yaml.JSONToYAML(encoded)
	if err != nil || bytes.ContainsFunc(text, hides) {
		return append(encoded, '\n'), err
	}
	return text, nil
}

// Visible returns text with JSON escapes for characters that are not printable, or would change
// the order of the characters around them. Line breaks stay.
func Visible(text string) string { return escaped(text, escapeOfJSON) }

func escaped(text string, escape func(rune) string) string {
	if !strings.ContainsFunc(text, hides) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if hides(r) {
			b.WriteString(escape(r))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func escapeOfJSON(r rune) string {
	if high, low := utf16.EncodeRune(r); high != unicode.ReplacementChar {
		return fmt.Sprintf(`\u%04x\u%04x`, high, low)
	}
	return fmt.Sprintf(`\u%04x`, r)
}

// escapeOfYAML returns an escape without surrogate halves, which YAML does not allow.
func escapeOfYAML(r rune) string { return fmt.Sprintf(`\U%08x`, r) }

func hides(r rune) bool { return !unicode.IsPrint(r) && r != '\t' && r != '\n' }
