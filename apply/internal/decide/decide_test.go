package decide

import (
	"os"
	"slices"
	"strings"
	"testing"
)

var (
	objects   = map[string]Object{"NotRead": NotRead, "Cached": Cached, "Unusable": Unusable, "Live": Live, "Absent": Absent}
	lasts     = map[string]Last{"Nothing": Nothing, "Landed": Landed, "Conflict": Conflict, "Changed": Changed, "Failed": Failed}
	conflicts = map[string]Conflicts{"Reject": Reject, "Concede": Concede, "Repeated": Repeated, "Force": Force}
	steps     = map[string]Step{"Send": Send, "SendForced": SendForced, "ReadCache": ReadCache, "ReadLive": ReadLive, "Again": Again, "Fail": Fail, "Done": Done}
	currents  = map[string]bool{"yes": true, "no": false}
)

// TestNext: the table in the comment of the package has exactly one row for each case, and Next does what it says.
func TestNext(t *testing.T) {
	source, err := os.ReadFile("decide.go")
	if err != nil {
		t.Fatal(err)
	}
	var rows [][]string
	used := map[string]bool{}
	for line := range strings.Lines(string(source)) {
		if row, isRow := strings.CutPrefix(line, "//\t| "); isRow && !strings.HasPrefix(row, "Object") {
			rows = append(rows, strings.Split(row, "|"))
		}
	}
	fits := func(cell, name string) bool {
		names := strings.Fields(cell)
		return slices.Contains(names, name) || slices.Contains(names, "any")
	}
	for object, o := range objects {
		for last, l := range lasts {
			for conflict, c := range conflicts {
				for current, is := range currents {
					for _, first := range []Step{Send, ReadCache, ReadLive} {
						var found []string
						for _, row := range rows {
							if fits(row[0], object) && fits(row[1], last) && fits(row[2], conflict) && fits(row[3], current) {
								found = append(found, strings.TrimSpace(row[4]))
								used[strings.Join(row, "|")] = true
							}
						}
						if len(found) != 1 {
							t.Fatalf("%s, %s, %s, current: %s has %d rows", object, last, conflict, current, len(found))
						}
						want, known := steps[found[0]]
						if found[0] == "First" {
							want, known = first, true
						}
						if got := Next(Case{o, l, c, is, first}); !known || got != want {
							t.Errorf("%s, %s, %s, current: %s: step %d, want %s", object, last, conflict, current, got, found[0])
						}
					}
				}
			}
		}
	}
	if len(used) != len(rows) || len(rows) == 0 {
		t.Errorf("%d of %d rows have a case", len(used), len(rows))
	}
}

// TestEnds: each attempt ends, whatever the API server responds. A field can be conceded once.
func TestEnds(t *testing.T) {
	for _, first := range []Step{Send, ReadCache, ReadLive} {
		for _, read := range []Object{Cached, Unusable} {
			for _, live := range []Object{Live, Absent} {
				walk(t, Case{First: first}, read, live, 0, 2)
			}
		}
	}
}

// walk follows all responses from a case. fields is the number of fields that can still be conceded.
func walk(t *testing.T, now Case, cached, live Object, depth, fields int) {
	t.Helper()
	if depth > 20 {
		t.Fatalf("an attempt does not end: %+v", now)
	}
	follow := func(next Case, fields int) { walk(t, next, cached, live, depth+1, fields) }
	switch step := Next(now); step {
	case ReadCache, ReadLive:
		next := now
		if next.Object = cached; step == ReadLive {
			next.Object = live
		}
		if next.Last == Changed {
			next.Last = Nothing
		}
		for _, current := range []bool{true, false} {
			for _, conflict := range conflicts {
				next.Conflicts, next.Current = conflict, current
				follow(next, fields)
			}
		}
	case Send, SendForced:
		for _, last := range []Last{Landed, Changed, Failed} {
			follow(Case{Object: now.Object, Last: last, First: now.First}, fields)
		}
		if step == SendForced {
			return
		}
		for _, conflict := range conflicts {
			if conflict != Concede || fields > 0 {
				left := fields
				if conflict == Concede {
					left--
				}
				follow(Case{now.Object, Conflict, conflict, now.Object == Live, now.First}, left)
			}
		}
	}
}
