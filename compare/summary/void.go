package summary

import (
	"fmt"
	"strings"
)

// voidRun says why nothing of the run counts: without controls that lost updates, an oracle that finds no losses may be
// blind.
func (r *reckoning) voidRun() string {
	var blind []string
	controls := 0
	for _, cell := range r.run.Plan {
		if !cell.Control {
			continue
		}
		for _, arm := range cell.Arms {
			controls++
			g, measured := r.lookup(cell.String(), arm)
			switch {
			case !measured:
				blind = append(blind, arm+" was not measured")
			case g.result.LostUpdates == 0:
				blind = append(blind, fmt.Sprintf("%s lost none of %d updates", arm, g.result.Acknowledged))
			}
		}
	}
	if controls == 0 {
		return "no control was planned, so nothing shows that the oracle sees lost updates"
	}
	if len(blind) > 0 {
		return "a control was not caught, so nothing shows that the oracle sees lost updates: " + strings.Join(blind, "; ")
	}
	return ""
}
