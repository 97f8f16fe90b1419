package notation

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"

	"sigs.k8s.io/structured-merge-diff/v4/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v4/value"
)

// Text returns one path element as text, such as .spec, ["a.b/c"] or [name="web"].
func Text(element fieldpath.PathElement) string {
	var b strings.Builder
	Write(&b, element)
	return b.String()
}

// Write writes one path element as text, such as .spec, to a builder.
func Write(b *strings.Builder, element fieldpath.PathElement) {
	switch {
	case element.FieldName != nil && IsIdentifier(*element.FieldName):
		b.WriteByte('.')
		b.WriteString(*element.FieldName)
	case element.FieldName != nil:
		b.WriteByte('[')
		b.WriteString(quote(*element.FieldName))
		b.WriteByte(']')
	case element.Key != nil:
		b.WriteByte('[')
		for i, field := range *element.Key {
			if i > 0 {
				b.WriteByte(',')
			}
			if IsIdentifier(field.Name) {
				b.WriteString(field.Name)
			} else {
				b.WriteString(quote(field.Name))
			}
			b.WriteByte('=')
			b.WriteString(literal(field.Value))
		}
		b.WriteByte(']')
	case element.Value != nil:
		b.WriteString("[=")
		b.WriteString(literal(*element.Value))
		b.WriteByte(']')
	case element.Index != nil:
		b.WriteByte('[')
		b.WriteString(strconv.Itoa(*element.Index))
		b.WriteByte(']')
	}
}

// IsIdentifier reports whether a name needs no quotes in a path.
func IsIdentifier(name string) bool {
	for i, r := range name {
		letter := r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		inner := r == '-' || r == '$' || r >= '0' && r <= '9'
		if !letter && (!inner || i == 0) {
			return false
		}
	}
	return name != ""
}

func quote(s string) string {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(s) // encoding a string cannot fail
	return EscapeUnseen(strings.TrimSuffix(b.String(), "\n"))
}

// EscapeUnseen returns JSON text with JSON escapes for invisible characters, which could control a
// terminal or reverse the direction of the text.
func EscapeUnseen(text string) string {
	unseen := func(r rune) bool { return !unicode.IsPrint(r) }
	if strings.IndexFunc(text, unseen) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if !unseen(r) {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
}

func literal(v value.Value) string {
	if v.IsString() {
		return quote(v.AsString())
	}
	encoded, _ := value.ToJSON(v) // cannot fail: the value was decoded from JSON
	return string(encoded)
}
