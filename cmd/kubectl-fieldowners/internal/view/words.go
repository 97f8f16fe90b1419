package view

import (
	"strings"
	"unicode/utf8"
)

// Words joins words into lines of at most columns columns, unless one word is longer; 0 means no limit.
// The first line begins with the text begin, and the other lines with further. Every line except the
// last ends with the text end.
func Words(words []string, columns int, begin, further, end string) string {
	var lines []string
	line := begin
	for i, word := range words {
		switch {
		case i == 0:
			line += word
		case columns > 0 && utf8.RuneCountInString(line+" "+word+end) > columns:
			lines = append(lines, line+end)
			line = further + word
		default:
			line += " " + word
		}
	}
	return strings.Join(append(lines, line), "\n")
}
