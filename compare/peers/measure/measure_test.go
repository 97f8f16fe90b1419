package measure

import (
	"strings"
	"testing"
)

func TestMet(t *testing.T) {
	for _, c := range []struct {
		reason    string
		must, aim Bound
		rounds    []float64
		want      string
	}{
		{"the median keeps the aim", AtLeast(8), AtLeast(10), []float64{1, 10, 30}, "aim"},
		{"of two rounds the median is between them", AtLeast(8), AtLeast(10), []float64{7, 10}, "must"},
		{"from above", AtMost(1.0 / 20), AtMost(1.0 / 40), []float64{1.0 / 30}, "must"},
		{"what is over what must be", AtMost(0), AtMost(0), []float64{0.01}, "no"},
		{"nothing was measured", AtMost(0), AtMost(0), nil, "not measured"},
	} {
		if got := (Row{Must: c.must, Aim: c.aim, Rounds: c.rounds}).Met(); got != c.want {
			t.Errorf("%s: %q, want %q", c.reason, got, c.want)
		}
	}
}

func TestText(t *testing.T) {
	for want, got := range map[string]string{
		"≤ 1/40":             AtMost(1.0 / 40).text(Times),
		"≥ 0.97":             AtLeast(0.97).text(Times),
		"≤ 300 ns":           AtMost(300e-9).text(Time),
		"0":                  AtMost(0).text(Count),
		"≤ 5 %":              AtMost(0.05).text(Share),
		"≤ 64 MiB":           AtMost(64 << 20).text(Bytes),
		"2 ms [1 ms, 3.5 s]": spread(Time, []float64{3.5, 0.002, 0.001}),
		"n/a":                spread(Time, nil),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestMarkdownSaysWhatIsMissing(t *testing.T) {
	r := Report{Rows: []Row{{Measure: "speed", Unit: Count, Peers: []Peer{{Name: "other", Unit: Count, Rounds: []float64{3}}}}}}
	page := r.Markdown()
	for _, want := range []string{"| speed | 0 | 0 | n/a | not measured | other 3 |", "| CPU |"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in\n%s", want, page)
		}
	}
}

// TestMarkdownHasAGrid: each measure is a line, and each column has the value, what it meets, and the first peer.
func TestMarkdownHasAGrid(t *testing.T) {
	var rows []Row
	for _, writers := range []string{"1 writer", "4 writers"} {
		for i, trip := range []string{"+0s", "+5ms"} {
			rows = append(rows, Row{
				Series: "over a network", Measure: writers, Column: trip, Unit: Times, Must: AtLeast(1), Aim: AtLeast(2), Rounds: []float64{float64(i), float64(i), 3},
				Peers: []Peer{{Name: "lanes", Unit: Rate, Rounds: []float64{30, 10, 20}}, {Name: "slow", Unit: Rate, Rounds: []float64{1}}},
			})
		}
	}
	const want = `
**over a network** (must: ≥ 1, aim: ≥ 2)

|  | +0s | +5ms |
| --- | --- | --- |
| 1 writer | 0 [0, 3] no, lanes 20/s | 1 [1, 3] must, lanes 20/s |
| 4 writers | 0 [0, 3] no, lanes 20/s | 1 [1, 3] must, lanes 20/s |

`
	r := Report{Rows: rows}
	if page := r.Markdown(); !strings.Contains(page, want) {
		t.Errorf("no\n%s\nin\n%s", want, page)
	}
	if shown := r.Table(); !strings.Contains(shown, "4 writers, +5ms") {
		t.Errorf("a row is to say its column:\n%s", shown)
	}
}

// TestMarkdownHasATableForASeries: what its rows have in common stands above them once.
func TestMarkdownHasATableForASeries(t *testing.T) {
	row := func(series, measure string, v float64) Row {
		return Row{
			Series: series, Measure: measure, Unit: Times, Must: AtLeast(2), Aim: AtLeast(3), Rounds: []float64{v},
			Peers: []Peer{{Name: "slow", Unit: Rate, Rounds: []float64{10 * v}}},
		}
	}
	r := Report{Rows: []Row{row("", "first", 3), row("of writers", "1 writer", 2), row("of writers", "4 writers", 1), row("of bytes", "1 kB", 4), row("", "last", 5)}}
	const want = `
| measure | must | aim | measured: median [least, greatest] | met | beside it |
| --- | --- | --- | --- | --- | --- |
| first | ≥ 2 | ≥ 3 | 3 | aim | slow 30/s |

**of writers** (must: ≥ 2, aim: ≥ 3)

|  | measured | met | slow |
| --- | --- | --- | --- |
| 1 writer | 2 | must | 20/s |
| 4 writers | 1 | no | 10/s |

**of bytes** (must: ≥ 2, aim: ≥ 3)

|  | measured | met | slow |
| --- | --- | --- | --- |
| 1 kB | 4 | aim | 40/s |

| measure | must | aim | measured: median [least, greatest] | met | beside it |
| --- | --- | --- | --- | --- | --- |
| last | ≥ 2 | ≥ 3 | 5 | aim | slow 50/s |

`
	if page := r.Markdown(); !strings.Contains(page, want) {
		t.Errorf("no\n%s\nin\n%s", want, page)
	}
	if shown := r.Table(); strings.Count(shown, "of writers") != 1 {
		t.Errorf("the series is to be named once:\n%s", shown)
	}
}
