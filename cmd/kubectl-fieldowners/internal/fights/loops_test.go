package fights

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

func newLoops(t *testing.T, within time.Duration) *Loops[string] {
	t.Helper()
	l, err := NewLoops[string](20, within)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestLoops shows writers in turn, by a letter each; "." is somebody else.
func TestLoops(t *testing.T) {
	for _, test := range []struct {
		reason string
		writes string
		every  time.Duration
		want   string // the pairs that were found
	}{
		{"two answer each other", strings.Repeat("ab", 15), time.Second, "ab"},
		{"not often enough yet", strings.Repeat("ab", 10), time.Second, ""},
		{"too slow", strings.Repeat("ab", 100), 4 * time.Second, ""},
		{"just fast enough", strings.Repeat("ab", 100), 2500 * time.Millisecond, "ab"},
		{"each writes a few times in a row", strings.Repeat("aaabb", 15), 500 * time.Millisecond, "ab"},
		{"two in a row each, not often enough", strings.Repeat("aabb", 30), 1600 * time.Millisecond, ""},
		{"beside as many others as are remembered", "cdefghijklmnop" + strings.Repeat("ab", 15), time.Second, "ab"},
		{"three go round", strings.Repeat("abc", 15), time.Second, "ab ac bc"},
		{"a third is there by chance", strings.Repeat("ab", 5) + "c" + strings.Repeat("ab", 10), time.Second, "ab"},
		{"one alone, however often", strings.Repeat("a", 1000), time.Millisecond, ""},
		{"one often, another seldom: a status that progresses", strings.Repeat("aaaaaaaaab", 9), 500 * time.Millisecond, ""},
		{"somebody else drives it", strings.Repeat(".ab", 100), time.Second, ""},
		{"somebody else drives a there and back", strings.Repeat(".abab", 100), time.Second, ""},
		{"somebody else writes now and then", strings.Repeat("ab", 8) + "." + strings.Repeat("ab", 15), time.Second, "ab"},
	} {
		l := newLoops(t, time.Minute)
		found := map[string]bool{}
		at := time.Unix(0, 0)
		for _, w := range test.writes {
			at = at.Add(test.every)
			if w == '.' {
				l.Interrupted("family")
				continue
			}
			loops := l.Wrote("family", string(w), string(w), at)
			if !slices.IsSortedFunc(loops, func(x, y Loop[string]) int { return strings.Compare(x.A+x.B, y.A+y.B) }) {
				t.Errorf("%s: %v is not in the order of managers", test.reason, loops)
			}
			for _, loop := range loops {
				found[loop.A+loop.B] = true
				if loop.InA != loop.A || loop.InB != loop.B {
					t.Errorf("%s: %+v does not say where they wrote", test.reason, loop)
				}
			}
		}
		var got []string
		for _, pair := range []string{"ab", "ac", "bc"} {
			if found[pair] {
				got = append(got, pair)
			}
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("%s: found %v, want %q", test.reason, got, test.want)
		}
	}
}

// TestLoopsOfManyObjects is a NodeSet that scales and 1,000 Devboxes that are made.
func TestLoopsOfManyObjects(t *testing.T) {
	l := newLoops(t, time.Minute)
	at := time.Unix(0, 0)
	for i := range 1000 {
		at = at.Add(10 * time.Millisecond)
		if found := l.Wrote("nodeset", "nodeset", fmt.Sprint("pod-", i), at); found != nil {
			t.Fatalf("pod %d: %v", i, found)
		}
		for j, manager := range []string{"workload", "power", "network", "workload", "power"} {
			if found := l.Wrote(fmt.Sprint("box-", i), manager, "x", at); found != nil {
				t.Fatalf("box %d, write %d: %v", i, j, found)
			}
		}
	}
	if len(l.families) != maxFamilies || l.recent.Len() != len(l.families) || l.families["nodeset"].Value.(*family[string]).writes != 1000 {
		t.Errorf("%d families are kept, %d in order", len(l.families), l.recent.Len())
	}
	l.Wrote("later", "a", "x", at.Add(fightWindow))
	if len(l.families) != 1 {
		t.Errorf("%d families are kept after a minute of nothing", len(l.families))
	}
}

func TestLoopGoesOn(t *testing.T) {
	l := newLoops(t, time.Minute)
	at := time.Unix(0, 0)
	for i := range 40 {
		at = at.Add(time.Second)
		l.Wrote("f", []string{"a", "b"}[i%2], "x", at)
	}
	for after, want := range map[time.Duration]bool{0: true, 30 * time.Second: true, 55 * time.Second: false, time.Hour: false} {
		if got := l.GoesOn("f", "a", "b", at.Add(after)); got != want {
			t.Errorf("%v after the last write: %v", after, got)
		}
	}
	if l.GoesOn("f", "a", "c", at) || l.GoesOn("f", "c", "b", at) || l.GoesOn("g", "a", "b", at) {
		t.Error("another pair or family goes on")
	}
	if n := len(l.families["f"].Value.(*family[string]).pairs[0].seconds); n > 60 {
		t.Errorf("%d seconds are kept", n)
	}
	l.Forget("g")
	l.Forget("f")
	if l.GoesOn("f", "a", "b", at) || l.recent.Len() != 0 {
		t.Error("not forgotten")
	}
}

func TestLoopsOfManyNames(t *testing.T) {
	l := newLoops(t, time.Minute)
	for i := range 1000 {
		l.Wrote("f", fmt.Sprint("m", i), "x", time.Unix(int64(i)/100, 0))
	}
	if f := l.families["f"].Value.(*family[string]); len(f.last) > maxWriters || len(f.pairs) > maxWriters*maxWriters {
		t.Errorf("%d managers and %d pairs are kept", len(f.last), len(f.pairs))
	}
}

// TestLoopsAnswerSoon has two write every so many seconds, each at its own time.
func TestLoopsAnswerSoon(t *testing.T) {
	for _, test := range []struct {
		reason string
		pauses []time.Duration // before a's write, and before b's
		want   int             // loops that people should hear of in three minutes
	}{
		{"each answers at once", []time.Duration{time.Second, time.Second}, 3},
		{"b writes behind a by chance: two heartbeats", []time.Duration{4 * time.Second, time.Second}, 0},
		{"between a's: two heartbeats", []time.Duration{2500 * time.Millisecond, 2500 * time.Millisecond}, 0},
	} {
		l, at, got := newLoops(t, 2*time.Second), time.Unix(0, 0), 0
		for i := 0; at.Before(time.Unix(180, 0)); i++ {
			at = at.Add(test.pauses[i%2])
			for _, loop := range l.Wrote("f", []string{"a", "b"}[i%2], "", at) {
				if loop.News {
					got++
				}
				if loop.Times < 20 || loop.Times > 80 {
					t.Errorf("%s: %d times", test.reason, loop.Times)
				}
			}
		}
		if got != test.want {
			t.Errorf("%s: told %d times, want %d", test.reason, got, test.want)
		}
	}
}

func TestLoopsRefuseNonsense(t *testing.T) {
	for turns, within := range map[int]time.Duration{1: time.Second, 2: 0} {
		if l, err := NewLoops[string](turns, within); err == nil || l != nil {
			t.Errorf("%d turns within %v: %v, %v", turns, within, l, err)
		}
	}
	if l, err := NewLoops[string](2, 1); err != nil || l == nil {
		t.Errorf("there and back: %v, %v", l, err)
	}
}
