package view

import (
	"strings"
	"unicode/utf8"
)

// Words joins words into lines of at most the given number of columns. 0 means no limit. A word that is longer than the
// limit gets a line of its own. begin is the prefix of the first line, and further is the prefix of each later line.
// end is the suffix of each line except the last.
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
