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
	return escaped(encoded), err
}

// IndentedJSON is JSON for people.
func IndentedJSON(v any) ([]byte, error) {
	encoded, err := json.MarshalIndent(v, "", "  ")
	return append(escaped(encoded), '\n'), err
}

// YAML encodes a value. What the YAML library would leave unescaped comes as JSON, which
// is YAML too.
func YAML(v any) ([]byte, error) {
	encoded, err := JSON(v) // without the control characters that YAML does not allow
	if err != nil {
		return nil, err
	}
	text, err := yaml.JSONToYAML(encoded)
	if err != nil || bytes.ContainsFunc(text, hides) {
		return append(encoded, '\n'), err
	}
	return text, nil
}

// escaped works on JSON, where such characters stand in texts only.
func escaped(encoded []byte) []byte {
	if !bytes.ContainsFunc(encoded, hides) {
		return encoded
	}
	return []byte(Visible(string(encoded)))
}

// Visible writes what is not printable, or would change the order of the characters
// around it, as escapes of JSON. Line breaks stay.
func Visible(text string) string {
	if !strings.ContainsFunc(text, hides) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		switch high, low := utf16.EncodeRune(r); {
		case !hides(r):
			b.WriteRune(r)
		case high != unicode.ReplacementChar:
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

func hides(r rune) bool { return !unicode.IsPrint(r) && r != '\t' && r != '\n' }
