package view

import (
	"strings"
	"unicode/utf8"
)

// Words joins words into lines. columns is the maximum width of a line, which only a single longer word exceeds; 0
// means no limit. The text in begin is put before the first line, the text in further before every other line, and the
// text in end after every line except the last.
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
