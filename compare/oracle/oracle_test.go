package oracle

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coapply.dev/compare/history"
	"coapply.dev/compare/results"
)

// told is "acknowledged/found" and the violations.
func told(o results.Oracle) string {
	s := fmt.Sprintf("%d/%d", o.Acknowledged, o.Found)
	for _, v := range o.Violations {
		s += fmt.Sprintf("; %s %s@%d of %d by %d: %s>%s", v.Kind, v.Field, v.Revision, v.Writer, v.By, v.Before, v.After)
	}
	return s
}

func TestJudge(t *testing.T) {
	for _, examples := range [][]example{setting, ambiguous, deleting, counting} {
		for _, e := range examples {
			t.Run(e.name, func(t *testing.T) {
				o := Judge(e.story.History)
				if got := told(o); got != e.want || o.Gap != "" {
					t.Errorf("got  %s (gap %q)\nwant %s", got, o.Gap, e.want)
				}
				if got := CrossCheck(e.story.History, time.Minute); !strings.HasPrefix(got, "agrees: ") {
					t.Errorf("the linearisability checker %s", got)
				}
			})
		}
	}
}

func TestUndoneStepsAreGivenBack(t *testing.T) {
	s := start("n", "5").counted(1, 11).counted(2, 12).counted(3, 13).counted(2, 14).
		is(11, "n", "6").is(12, "n", "7").is(13, "n", "6").is(14, "n", "8")
	if o := Judge(s.History); o.LostIncrements != 1 || o.Phantom != 0 {
		t.Errorf("lost %d, phantom %d; want 4 acknowledged - 3 landed = 1 lost", o.LostIncrements, o.Phantom)
	}
}

func TestGapIsNoLoss(t *testing.T) {
	tests := map[string]struct {
		story *story
		want  string
	}{
		"a version is missing": {
			start().did(1, 11, "a", "1").did(1, 12, "a", "2").is(12, "a", "2"),
			"the watch has no revision 11 of ConfigMap/n/a, but intent 0 of writer 1 was acknowledged with this revision",
		},
		"the watch ended early": {
			start().did(1, 11, "a", "1"), "the watch has no revision 11 of ConfigMap/n/a, but intent 0 of writer 1 was acknowledged with this revision",
		},
		"no resourceVersion": {
			start().add(1, history.Landed, "", []string{"a", "1"}).is(11, "a", "1"),
			`intent 0 of writer 1 landed, but with resourceVersion "" its write cannot be found`,
		},
		"order": {start().is(9, "a", "1"), "the watch gave revision 9 of ConfigMap/n/a after revision 10"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			o := Judge(test.story.History)
			if o.Gap != test.want {
				t.Errorf("gap %q\nwant %q", o.Gap, test.want)
			}
			for _, v := range o.Violations {
				if v.Kind == kindNotFound {
					t.Errorf("a write that the watch missed counts as not found: %+v", v)
				}
			}
			if got := CrossCheck(test.story.History, time.Minute); got != "undecided: "+test.want {
				t.Errorf("the linearisability checker says %q", got)
			}
		})
	}
}

func TestViolationsAreTheFirst(t *testing.T) {
	s := start()
	for i := range uint64(50) {
		s.is(11+i, "a", fmt.Sprint(i))
	}
	o := Judge(s.History)
	if o.Phantom != 50 || len(o.Violations) != kept || o.Violations[0].Revision != 11 {
		t.Errorf("%d phantoms, of which %d are kept: %+v", o.Phantom, len(o.Violations), o.Violations)
	}
}

// TestRecorded: porcupine agrees on the histories of real trials. `go test -run TestCompareTrial -record .` in
// compare/integration records them.
func TestRecorded(t *testing.T) {
	losing := map[string]bool{"put-no-rv": true}
	files, err := filepath.Glob("testdata/*.json.gz")
	if err != nil || len(files) < 5 {
		t.Fatalf("%d histories, %v", len(files), err)
	}
	for _, file := range files {
		arm := strings.TrimSuffix(filepath.Base(file), ".json.gz")
		h := recorded(t, file)
		o := Judge(h)
		if o.Gap != "" || o.Acknowledged == 0 || o.Phantom > 0 || (o.LostUpdates() > 0) != losing[arm] {
			t.Errorf("%s: %+v", arm, o)
		}
		want := map[bool]string{false: "agrees: linearisable", true: "agrees: both see losses"}[losing[arm]]
		if got := CrossCheck(h, time.Minute); got != want {
			t.Errorf("%s: %s, want %s", arm, got, want)
		}
	}
}

func recorded(t *testing.T, file string) (h history.History) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	text, err := gzip.NewReader(f)
	if err == nil {
		err = json.NewDecoder(text).Decode(&h)
	}
	if err != nil {
		t.Fatal(err)
	}
	return h
}
