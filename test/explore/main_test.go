package explore

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"coapply.dev/test/kit"
)

func TestMain(m *testing.M) { kit.Main(m) }

// The number of schedules of each world: enough to explore most worlds completely, and a sample for make test.
const enough, sample = 4000, 20

// TestWorlds explores the worlds. COAPPLY_WORLD selects a single world.
func TestWorlds(t *testing.T) {
	if os.Getenv("COAPPLY_SCHEDULE") != "" {
		t.Skip("TestSchedule runs one schedule")
	}
	schedules := enough
	if testing.Short() {
		schedules = sample
	}
	printRow("world", "schedules", "states", "longest", "exhaustive", "seconds")
	chosen := worlds
	if only := os.Getenv("COAPPLY_WORLD"); only != "" {
		chosen = []*World{worldOf(t, only)}
	}
	for _, w := range chosen {
		t.Run(strings.ReplaceAll(w.Name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			var found Result
			synctest.Test(t, func(t *testing.T) {
				var err error
				found, err = w.Explore(schedules)
				if err != nil {
					t.Fatal(err)
				}
				failOn(t, w, found)
			})
			printRow(w.Name, found.Schedules, found.States, found.Longest, found.Exhaustive, int(time.Since(start).Seconds()))
		})
	}
}

// TestWalks runs schedules with random steps in each world. COAPPLY_CASES is their number.
func TestWalks(t *testing.T) {
	if os.Getenv("COAPPLY_WORLD") != "" {
		t.Skip("TestWorlds and TestSchedule run one world")
	}
	seed, walks := kit.Seed(t), kit.Cases(t, 3)
	for i, w := range worlds {
		t.Run(strings.ReplaceAll(w.Name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				found, err := w.Walk(walks, rand.New(rand.NewPCG(seed, uint64(i))))
				if err != nil {
					t.Fatal(err)
				}
				failOn(t, w, found)
			})
		})
	}
}

func printRow(values ...any) {
	if !testing.Short() {
		fmt.Printf("%-55v %9v %7v %7v %10v %7v\n", values...)
	}
}

func failOn(t *testing.T, w *World, found Result) {
	t.Helper()
	if found.Violation != nil {
		t.Fatalf("violated after %d steps: %v\nmake explore WORLD='%s' SCHEDULE='%s'", len(found.Schedule), found.Violation, w.Name, strings.Join(found.Schedule, " "))
	}
}

func worldOf(t *testing.T, name string) *World {
	t.Helper()
	at := slices.IndexFunc(worlds, func(w *World) bool { return w.Name == name })
	if at < 0 {
		t.Fatalf("there is no world %q; make explore prints the names", name)
	}
	return worlds[at]
}

// TestSchedule runs COAPPLY_SCHEDULE in COAPPLY_WORLD, and shows each step.
func TestSchedule(t *testing.T) {
	schedule := strings.Fields(os.Getenv("COAPPLY_SCHEDULE"))
	if len(schedule) == 0 {
		t.Skip("needs COAPPLY_WORLD and COAPPLY_SCHEDULE")
	}
	w := worldOf(t, os.Getenv("COAPPLY_WORLD"))
	synctest.Test(t, func(t *testing.T) {
		found, err := w.Replay(schedule, func(step, text string) { fmt.Printf("%-4s %s\n", step, text) })
		if err != nil {
			t.Fatal(err)
		}
		failOn(t, w, found)
	})
}

// TestSchedules runs the schedules that once violated an invariant.
func TestSchedules(t *testing.T) {
	file, err := os.Open("testdata/schedules.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		line, _, _ := strings.Cut(lines.Text(), "#")
		name, schedule, ok := strings.Cut(line, ": ")
		if !ok {
			continue
		}
		synctest.Test(t, func(t *testing.T) {
			w := worldOf(t, name)
			found, err := w.Replay(strings.Fields(schedule), func(string, string) {})
			if err != nil {
				t.Fatal(err)
			}
			failOn(t, w, found)
		})
	}
}
