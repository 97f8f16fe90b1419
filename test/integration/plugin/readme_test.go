package plugin

import (
	"strings"
	"testing"

	"coapply.dev/test/kit"
)

// readmeCommand is that of which the README shows the begin.
const readmeCommand = "kubectl fieldowners deployment/web --path .spec"

// holdReadme compares what the README shows of the object that the guide has made.
func holdReadme(t *testing.T, world *tourist) {
	t.Helper()
	recorded := kit.ReadRecorded(t, "../../../README.md", "$ "+readmeCommand+"\n", "```")
	printed := strings.SplitAfter(world.run(t, readmeCommand), "\n")
	lines := strings.Count(recorded.Text, "\n")
	if lines < 5 || lines > len(printed) {
		t.Fatalf("the README shows %d lines of %d", lines, len(printed))
	}
	recorded.Hold(t, strings.Join(printed[:lines], ""), func(text string) []string { return []string{kit.Timeless(text)} })
}
