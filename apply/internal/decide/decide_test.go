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

// table is a table in the comment of the package. The last cell of a row is the result.
type table struct {
	rows [][]string
	used map[int]bool
}

// tableOf reads the table whose header begins with a name.
func tableOf(t *testing.T, name string) table {
	t.Helper()
	source, err := os.ReadFile("decide.go")
	if err != nil {
		t.Fatal(err)
	}
	read, inside := table{used: map[int]bool{}}, false
	for line := range strings.Lines(string(source)) {
		row, isRow := strings.CutPrefix(line, "//\t| ")
		if inside = isRow && (inside || strings.HasPrefix(row, name)) || inside && strings.HasPrefix(line, "//\t|-"); inside && isRow && !strings.HasPrefix(row, name) {
			cells := strings.Split(row, "|")
			read.rows = append(read.rows, cells[:len(cells)-1])
		}
	}
	return read
}

// find returns the result in the one row that has the given cells.
func (read table) find(t *testing.T, cells ...string) (result string) {
	t.Helper()
	var found []int
	for i, row := range read.rows {
		fits := len(row) == len(cells)+1
		for n := range cells {
			names := strings.Fields(row[n])
			fits = fits && (slices.Contains(names, cells[n]) || slices.Contains(names, "any"))
		}
		if fits {
			found = append(found, i)
			read.used[i] = true
			result = strings.TrimSpace(row[len(cells)])
		}
	}
	if len(found) != 1 {
		t.Fatalf("%q has the rows %v", cells, found)
	}
	return result
}

func (read table) allUsed(t *testing.T) {
	t.Helper()
	if len(read.used) != len(read.rows) || len(read.rows) == 0 {
		t.Errorf("%d of %d rows have a case", len(read.used), len(read.rows))
	}
}

var (
	kinds   = map[string]Intent{"Any": Any, "OfSubresource": OfSubresource, "MustExist": MustExist, "Exclusive": Exclusive}
	founds  = map[string]Found{"None": None, "Other": Other, "Rejected": Rejected, "Accepted": Accepted}
	targets = map[string]Target{"CreateOrAdopt": CreateOrAdopt, "Pin": Pin, "PinToMade": PinToMade, "CreateOnly": CreateOnly,
		"ReadFirst": ReadFirst, "NoObject": NoObject, "NotOurs": NotOurs, "UIDMismatch": UIDMismatch}
)

// TestAim: the table has exactly one row for each case, and Aim does what it says.
func TestAim(t *testing.T) {
	read := tableOf(t, "Intent")
	for kind, k := range kinds {
		for uid, given := range map[string]bool{"none": false, "given": true} {
			for from, live := range map[string]bool{"Cache": false, "Live": true} {
				for found, f := range founds {
					for made, is := range currents {
						if f == Other && !given || f == Rejected && (k == Any || k == OfSubresource) { // impossible
							continue
						}
						want, known := targets[read.find(t, kind, uid, from, found, made)]
						if got := Aim(Read{k, given, live, f, is}); !known || got != want {
							t.Errorf("%s, uid %s, from %s, %s, made %s: %d, want %d", kind, uid, from, found, made, got, want)
						}
					}
				}
			}
		}
	}
	read.allUsed(t)
}

// TestNext: the table has exactly one row for each case, and Next does what it says.
func TestNext(t *testing.T) {
	read := tableOf(t, "Object")
	for object, o := range objects {
		for last, l := range lasts {
			for conflict, c := range conflicts {
				for current, is := range currents {
					for _, first := range []Step{Send, ReadCache, ReadLive} {
						found := read.find(t, object, last, conflict, current)
						want, known := steps[found]
						if found == "First" {
							want, known = first, true
						}
						if got := Next(Case{o, l, c, is, first}); !known || got != want {
							t.Errorf("%s, %s, %s, current: %s: step %d, want %s", object, last, conflict, current, got, found)
						}
					}
				}
			}
		}
	}
	read.allUsed(t)
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
