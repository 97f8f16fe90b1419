package view_test

import (
	"strings"
	"testing"

	"coapply.dev/cmd/kubectl-fieldowners/internal/view"
)

func TestWords(t *testing.T) {
	for _, test := range []struct {
		reason              string
		text                string
		columns             int
		begin, further, end string
		want                string
	}{
		{"nothing", "", 10, "> ", "", "", "> "},
		{"as many as there is room for", "one two three", 7, "", "", "", "one two\nthree"},
		{"characters, not bytes", "één twéé drie", 8, "", "", "", "één twéé\ndrie"},
		{"one column too few", "one two three", 6, "", "", "", "one\ntwo\nthree"},
		{"a word that is longer", "one sesquipedalian two", 7, " ", "  ", "", " one\n  sesquipedalian\n  two"},
		{"lines that are continued", "a -b -c", 6, "", "  ", ` \`, "a -b \\\n  -c"},
		{"unlimited", "one two three", 0, "", "", "", "one two three"},
	} {
		if got := view.Words(strings.Fields(test.text), test.columns, test.begin, test.further, test.end); got != test.want {
			t.Errorf("%s: %q, want %q", test.reason, got, test.want)
		}
	}
}
