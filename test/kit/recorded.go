package kit

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Recorded is a block of a document that shows what a command prints.
type Recorded struct {
	Text string

	file, before, after string
}

// ReadRecorded reads the block between the texts begin and end of a document.
func ReadRecorded(t *testing.T, file, begin, end string) Recorded {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(content), begin)
	text, _, ends := strings.Cut(rest, end)
	if !found || !ends {
		t.Fatalf("%s has no block that begins with %q and ends with %q", file, begin, end)
	}
	return Recorded{text, file, before + begin, rest[len(text):]}
}

// Hold fails the test if the block differs from now, the current output. words splits both texts into parts,
// without the text that differs in each run. With UPDATE_DOCS=1, Hold writes the output into the document instead.
func (r Recorded) Hold(t *testing.T, now string, words func(string) []string) {
	t.Helper()
	if os.Getenv("UPDATE_DOCS") == "1" {
		if err := os.WriteFile(r.file, []byte(r.before+now+r.after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	was, is := words(r.Text), words(now)
	for i := range max(len(was), len(is)) {
		if i >= len(was) || i >= len(is) {
			t.Fatalf("%s shows %d parts, but the output has %d: UPDATE_DOCS=1 records the new output", r.file, len(was), len(is))
		}
		if diff := cmp.Diff(was[i], is[i]); diff != "" {
			t.Errorf("%s: part %d of the output has changed: UPDATE_DOCS=1 records the new output (-recorded +now):\n%s", r.file, i+1, diff)
		}
	}
}

var variable = []struct {
	pattern *regexp.Regexp
	text    string
}{
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "UID"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT[\d:]+Z?`), "TIME"},
	{regexp.MustCompile(`\b\d\d:\d\d:\d\d\b`), "TIME"},
	{regexp.MustCompile(`\b(\d+(ms|s|m|h|d))+\b`), "AGE"},
	{regexp.MustCompile(`resourceVersion: "\d+"`), "resourceVersion"},
	{regexp.MustCompile(`-\d+\.(yaml|json)`), "-VERSION.$1"},
	{regexp.MustCompile(`fieldowners \S+ \w+/\w+ go[\w.]+`), "fieldowners VERSION"},
	{regexp.MustCompile(` +`), " "}, // columns are as wide as what stands in them
}

// Timeless replaces text that differs in each run, such as times and uids.
func Timeless(text string) string {
	for _, v := range variable {
		text = v.pattern.ReplaceAllString(text, v.text)
	}
	return text
}
