package command

import (
	"regexp"
	"strings"
)

// plainWord needs no quotes in any shell: zsh has a meaning for = as well.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_@%+:,./-]+$`)

// Quote returns a word quoted for a shell, if need be.
func Quote(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
