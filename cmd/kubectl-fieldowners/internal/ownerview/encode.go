package ownerview

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"

	"sigs.k8s.io/yaml"
)

// JSON encodes a value with every character escaped that could steer a terminal or
// turn its lines around.
func JSON(v any) ([]byte, error) {
	encoded, err := json.Marshal(v)
	return []byte(Visible(string(encoded))), err // such characters stand in texts only
}

// IndentedJSON is JSON for people.
func IndentedJSON(v any) ([]byte, error) {
	encoded, err := json.MarshalIndent(v, "", "  ")
	return []byte(Visible(string(encoded)) + "\n"), err
}

// YAML encodes a value. What the YAML library would leave unescaped comes as JSON, which
// is YAML too.
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

// Visible writes what is not printable, or would change the order of the characters
// around it, as escapes of JSON. Line breaks stay.
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

// escapeOfYAML has no halves of characters, which YAML does not allow.
func escapeOfYAML(r rune) string { return fmt.Sprintf(`\U%08x`, r) }

func hides(r rune) bool { return !unicode.IsPrint(r) && r != '\t' && r != '\n' }
