package bench

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"

	"coapply.dev/compare"
	"coapply.dev/compare/results"
)

// Without a terminal: whole lines, not one for each trial, with the time left by what was measured.
func TestProgressInLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAttempt(t, 50, &fakeCluster{made: wait(2800 * time.Millisecond)}) // twice what is estimated
		if err := a.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		said := a.said.String()
		lines := strings.Split(strings.TrimSuffix(said, "\n"), "\n")
		if n := len(lines); n < 15 || n > 25 || strings.ContainsAny(said, "\r\x1b") {
			t.Errorf("%d lines for 100 trials in 280 s:\n%q", n, said)
		}
		if lines[0] != "100 trials, about 2m20s" || lines[len(lines)-1] != "100 of 100 trials finished in 4m40s" {
			t.Errorf("first %q, last %q", lines[0], lines[len(lines)-1])
		}
		half := regexp.MustCompile(`(?m)^5\d of 100 trials, (2m\d+s) left$`).FindStringSubmatch(said)
		if half == nil {
			t.Fatalf("no line at half:\n%s", said)
		}
		if left, err := time.ParseDuration(half[1]); err != nil || left < 2*time.Minute || left > 140*time.Second {
			t.Errorf("at half, %s left; want about 2m10s", half[1])
		}
	})
}

var escapes = regexp.MustCompile("\x1b\\[[0-9;?]*[a-zA-Z]")

// On a terminal: one line that fits, and what is not to be missed above it.
func TestProgressInABar(t *testing.T) {
	cell := compare.Cell{Workload: "license-finalizer", Parameters: compare.Parameters{
		Writers: 100, Managers: 100, RTT: 5 * time.Millisecond, Duration: time.Second,
	}}
	plan := []results.PlannedCell{{Cell: cell, Arms: []string{"gmu-default-retry"}, Blocks: 1200}}
	for _, width := range []int{40, 80} {
		var out bytes.Buffer
		steps := order(plan, 1)
		p := startProgress(&out, plan, steps)
		p.drawBar(func() int { return 80 }) // what the bar takes a buffer for
		p.width = func() int { return width }
		for i := range 3 {
			p.begin(1000+i, cell, steps[i])
		}
		p.end(results.Trial{ID: "x", Void: "the watch ended"})
		p.begin(1003, cell, steps[3])
		p.stop()
		plain := escapes.ReplaceAllString(out.String(), "")
		for _, line := range strings.FieldsFunc(plain, func(r rune) bool { return r == '\r' || r == '\n' }) {
			if w := text.StringWidth(strings.TrimRight(line, " ")); w > 80 {
				t.Errorf("%d columns: %q", w, line)
			}
		}
		if n := strings.Count(plain, "\n"); n != 3 {
			t.Errorf("%d lines end; want those of the beginning, the void trial and the end:\n%q", n, plain)
		}
		for _, want := range []string{"s left, …", "(1003/1200)", "x is void: the watch ended\n", "trials finished in 0s, 1 of them void"} {
			if width == 80 {
				want = strings.Replace(want, "left, …", "left, license-finalizer w100 m100 rtt5ms…", 1)
			}
			if !strings.Contains(plain, want) {
				t.Errorf("at %d columns, %q is missing:\n%q", width, want, plain)
			}
		}
	}
}
