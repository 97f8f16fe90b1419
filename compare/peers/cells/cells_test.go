package cells

import (
	"testing"
	"time"

	"coapply.dev/compare/peers/measure"
	"coapply.dev/compare/results"
)

// TestRows: of a plan every trial is made in every round, and each row compares those of one round.
func TestRows(t *testing.T) {
	for name := range parts {
		for _, quick := range []bool{false, true} {
			var trials []results.Trial
			for _, planned := range Plan([]string{name, "requests"}, 2, quick) {
				for _, arm := range planned.Arms {
					for block := range planned.Blocks {
						landed := 100
						if arm == lanes || arm == "update" {
							landed *= 2 + block
						}
						made := results.Trial{Arm: arm, Cell: planned.Cell, Block: block, Measured: time.Second, Timed: results.Counts{Landed: landed}}
						made.All.Landed, made.Client.Requests = 1, map[string]int{"PUT 200": 1, "GET none": 5}
						trials = append(trials, made)
					}
				}
			}
			rows := Rows(name, trials, quick)
			if len(rows) == 0 {
				t.Errorf("%s: no rows", name)
			}
			for _, row := range rows {
				want := []float64{2, 3}
				switch row.ID {
				case "p99", "fallback-requests", "goodput-flat": // no latencies; one request each; lanes against lanes
					want = []float64{1, 1}
				}
				if len(row.Rounds) != 2 || row.Rounds[0] != want[0] || row.Rounds[1] != want[1] {
					t.Errorf("%s, %s: %v, want %v", name, row.ID, row.Rounds, want)
				}
			}
			trials[0].Void = "a gap"
			if void := Rows(name, trials, quick); measured(void) >= measured(rows) {
				t.Errorf("%s: a void trial counts", name)
			}
		}
	}
	if rows := Rows("requests", nil, false); rows != nil {
		t.Errorf("a part without trials has %d rows", len(rows))
	}
}

// measured is how many values rows and what stands beside them have.
func measured(rows []measure.Row) (n int) {
	for _, row := range rows {
		n += len(row.Rounds)
		for _, peer := range row.Peers {
			n += len(peer.Rounds)
		}
	}
	return n
}
