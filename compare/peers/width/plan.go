// Package width measures what lanes as wide as the network asks for come to: against plain client.Apply and against lanes
// of a fixed width, over several round trips; and what the fallback comes to in lanes.
package width

import (
	"fmt"
	"time"

	"coapply.dev/compare"
	"coapply.dev/compare/peers/arms"
)

// Arms of the measures.
const (
	plain    = "ssa"
	adaptive = arms.LanesOnly
	fallback = arms.UpdateDo
	gmuLanes = "gmu-lanes"
)

// workload is one ConfigMap of four field managers; each writer changes its manager's key.
const (
	workload = "hot-object"
	managers = 4
)

// cell is where arms are compared.
type cell struct {
	writers int
	trip    time.Duration // added to each request
}

func (c cell) String() string {
	if c.writers == 1 {
		return fmt.Sprintf("1 writer, +%s", c.trip)
	}
	return fmt.Sprintf("%d writers, +%s", c.writers, c.trip)
}

var (
	writers = []int{1, 4, 16, 64}
	trips   = []time.Duration{0, time.Millisecond, 5 * time.Millisecond, 20 * time.Millisecond}
)

// cells of a run.
func cells(quick bool) (all []cell) {
	for _, w := range writers {
		for _, trip := range trips {
			if !quick || w == 4 && trip == 5*time.Millisecond {
				all = append(all, cell{w, trip})
			}
		}
	}
	return all
}

// armsOf a cell. One writer alone has nobody to share a lane with.
func armsOf(c cell) []string {
	all := []string{plain, adaptive}
	if c.writers > 1 {
		for _, width := range arms.Widths {
			all = append(all, arms.OfWidth(width))
		}
	}
	return all
}

// one is a trial of a round.
type one struct {
	cell
	arm string
}

func trials(quick bool) (all []one) {
	for _, c := range cells(quick) {
		for _, arm := range armsOf(c) {
			all = append(all, one{c, arm})
		}
	}
	return append(all, one{fallbackCell(quick), fallback}, one{fallbackCell(quick), gmuLanes})
}

// fallbackCell is that of update.Do.
func fallbackCell(quick bool) cell {
	if quick {
		return cell{writers: 8}
	}
	return cell{writers: 64}
}

func (o one) in(quick bool) compare.Cell {
	p := compare.Parameters{
		Writers: o.writers, Objects: 1, Managers: managers, RTT: o.trip, Warmup: time.Second, Duration: 4 * time.Second,
	}
	if quick {
		p.Warmup, p.Duration = 200*time.Millisecond, 500*time.Millisecond
	}
	return compare.Cell{Workload: workload, Parameters: p}
}
