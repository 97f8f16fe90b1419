package results

import (
	"strings"
	"testing"
)

// Each cell has a name of its own: benchstat would otherwise take two cells for one.
func TestBenchTellsCellsApart(t *testing.T) {
	one, spread := someTrial("a"), someTrial("b")
	spread.Processes = 4
	data, err := Bench(someRun(), []Trial{one, spread})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"HotObject/arm=ssa/writers=2/managers=0/objects=0 ", "/objects=0/processes=4 "} {
		if strings.Count(string(data), want) != 1 {
			t.Errorf("%q is not in one line:\n%s", want, data)
		}
	}
}
