package ownerpage

import (
	"fmt"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"

	"coapply.dev/cmd/kubectl-fieldowners/internal/ownerview"
)

// maxLine is how much of a line is shown. The values of some annotations are whole
// objects.
const maxLine = 1000

// cut leaves out the end of a line that is too long, and says so.
func cut(text string) string {
	if len(text) <= maxLine {
		return text
	}
	runes := []rune(text)
	if len(runes) <= maxLine {
		return text
	}
	return fmt.Sprintf("%s… (%s more characters)", string(runes[:maxLine]), count(len(runes)-maxLine))
}

// safe gives a name of any length and any characters on one line.
func safe(text string) string { return cut(ownerview.Safe(text)) }

// text gives a sentence the same way, without quotes.
func text(said string) string { return cut(ownerview.Visible(said)) }

// count writes a number for people: 12,345.
func count(n int) string { return humanize.Comma(int64(n)) }

// plural writes how many of something there are: 1 field, 2 fields.
func plural(n int, noun string) string { return count(n) + " " + english.PluralWord(n, noun, "") }
