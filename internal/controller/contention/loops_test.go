package contention

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"coapply.dev/apply"
)

func ref(name string) apply.ObjectRef {
	return apply.ObjectRef{NamespacedName: types.NamespacedName{Name: name}, UID: types.UID(name)}
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
		{"three go round", strings.Repeat("abc", 15), time.Second, "ab ac bc"},
		{"a third is there by chance", strings.Repeat("ab", 5) + "c" + strings.Repeat("ab", 10), time.Second, "ab"},
		{"one alone, however often", strings.Repeat("a", 1000), time.Millisecond, ""},
		{"one often, another seldom: a status that progresses", strings.Repeat("aaaaaaaaab", 9), 500 * time.Millisecond, ""},
		{"somebody else drives it", strings.Repeat(".ab", 100), time.Second, ""},
		{"somebody else drives a there and back", strings.Repeat(".abab", 100), time.Second, ""},
		{"somebody else writes now and then", strings.Repeat("ab", 8) + "." + strings.Repeat("ab", 15), time.Second, "ab"},
	} {
		l := newLoops(20)
		found := map[string]bool{}
		at := time.Unix(0, 0)
		for _, w := range test.writes {
			at = at.Add(test.every)
			if w == '.' {
				l.interrupted("family")
				continue
			}
			for _, loop := range l.wrote("family", string(w), ref(string(w)), at) {
				found[loop.a+loop.b] = true
				if loop.inA != ref(loop.a) || loop.inB != ref(loop.b) {
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
	l := newLoops(20)
	at := time.Unix(0, 0)
	for i := range 1000 {
		at = at.Add(10 * time.Millisecond)
		if found := l.wrote("nodeset", "nodeset", ref(fmt.Sprint("pod-", i)), at); found != nil {
			t.Fatalf("pod %d: %v", i, found)
		}
		for j, manager := range []string{"workload", "power", "network", "workload", "power"} {
			if found := l.wrote(types.UID(fmt.Sprint("box-", i)), manager, ref("x"), at); found != nil {
				t.Fatalf("box %d, write %d: %v", i, j, found)
			}
		}
	}
	if len(l.families) > maxFamilies || l.recent.Len() != len(l.families) {
		t.Errorf("%d families are kept, %d in order", len(l.families), l.recent.Len())
	}
	l.wrote("later", "a", ref("x"), at.Add(window))
	if len(l.families) != 1 {
		t.Errorf("%d families are kept after a minute of nothing", len(l.families))
	}
}

func TestLoopGoesOn(t *testing.T) {
	l := newLoops(20)
	at := time.Unix(0, 0)
	for i := range 40 {
		at = at.Add(time.Second)
		l.wrote("f", []string{"a", "b"}[i%2], ref("x"), at)
	}
	for after, want := range map[time.Duration]bool{0: true, 30 * time.Second: true, 55 * time.Second: false, time.Hour: false} {
		if got := l.goesOn("f", "a", "b", at.Add(after)); got != want {
			t.Errorf("%v after the last write: %v", after, got)
		}
	}
	if l.goesOn("f", "a", "c", at) || l.goesOn("g", "a", "b", at) {
		t.Error("another pair or family goes on")
	}
	if n := len(l.families["f"].Value.(*family).pairs[0].turns); n > 80 {
		t.Errorf("%d turns are kept", n)
	}
	l.forget("f")
	if l.goesOn("f", "a", "b", at) || l.recent.Len() != 0 {
		t.Error("not forgotten")
	}
}

func TestLoopsOfManyNames(t *testing.T) {
	l := newLoops(20)
	for i := range 1000 {
		l.wrote("f", fmt.Sprint("m", i), ref("x"), time.Unix(int64(i)/100, 0))
	}
	if f := l.families["f"].Value.(*family); len(f.last) > maxWriters || len(f.pairs) > maxWriters*maxWriters {
		t.Errorf("%d managers and %d pairs are kept", len(f.last), len(f.pairs))
	}
}
