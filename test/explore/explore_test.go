package explore

import (
	"os"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestExplore(t *testing.T) {
	if p := os.Getenv("PROFILE"); p != "" {
		f, _ := os.Create(p)
		_ = pprof.StartCPUProfile(f)
		defer pprof.StopCPUProfile()
	}
	for _, w := range worlds {
		t.Run(strings.ReplaceAll(w.Name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			synctest.Test(t, func(t *testing.T) {
				found, err := w.Explore(number("SCHEDULES", 400))
				if err != nil {
					t.Fatal(err)
				}
				t.Logf("RESULT %s: %+v in %v", w.Name, found, time.Since(start))
				if found.Violation != nil {
					t.Errorf("violated after %d steps: %v\nmake explore WORLD='%s' SCHEDULE='%s'", len(found.Schedule), found.Violation, w.Name, strings.Join(found.Schedule, " "))
				}
			})
			t.Log(time.Since(start))
		})
	}
}

func TestReplay(t *testing.T) {
	name, schedule := os.Getenv("WORLD"), os.Getenv("SCHEDULE")
	if name == "" || schedule == "" {
		t.Skip("needs WORLD and SCHEDULE")
	}
	at := slices.IndexFunc(worlds, func(w *World) bool { return w.Name == name })
	if at < 0 {
		t.Fatalf("there is no world %q", name)
	}
	synctest.Test(t, func(t *testing.T) {
		found, err := worlds[at].Replay(strings.Fields(schedule), func(step, text string) { t.Logf("%-3s %s", step, text) })
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%+v", found)
	})
}

func number(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return otherwise
}
