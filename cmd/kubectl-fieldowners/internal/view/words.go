package view

import (
	"strings"
	"unicode/utf8"
)

// Words puts words on lines of so many columns, unless one is longer itself; 0 is unlimited. The
// first line begins with begin, all others with further, and all but the last end with end.
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
