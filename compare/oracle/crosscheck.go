package oracle

import (
	"fmt"
	"time"

	"github.com/anishathalye/porcupine"

	"coapply.dev/compare/history"
)

// longest is the maximum number of operations on one field. Beyond it CrossCheck does not check, because the memory
// grows with the square.
const longest = 20_000

// CrossCheck checks the history with porcupine, a linearisability checker, and compares the result with Judge's. It
// returns "agrees: linearisable", "agrees: both see losses" or "disagrees: ...". It returns "undecided ..." if the time
// is over, or the history has a gap or is too long.
//
// Every tracked field of every object is modelled as a register or a counter. Writes alone would always be
// linearisable. Lost updates become visible by modelling every version as an atomic read, in the order of revisions:
//
//   - The read happens after the beginning of each write whose value it has, and before the first response with its
//     revision or a later one.
//   - An acknowledged write happens during its request: just before the version it was acknowledged with, or just after
//     that version if the write changed nothing.
//   - A write without an acknowledgement happens at any time after its beginning, or never.
//   - Deletions, first versions, and removals by a field's own manager reset a register. Only Judge checks these.
func CrossCheck(h history.History, timeout time.Duration) string {
	until := time.Now().Add(timeout)
	j := judge(newIndex(h))
	if j.gap != "" {
		return "undecided: " + j.gap
	}
	bad := "" // the first field that is not linearisable
	for _, r := range registers(newIndex(h), j.resets) {
		if len(r.operations) > longest {
			return fmt.Sprintf("undecided: %d operations on %s of %s are too many", len(r.operations), r.field, r.object)
		}
		left := time.Until(until)
		if left <= 0 {
			return fmt.Sprintf("undecided within %v", timeout)
		}
		switch porcupine.CheckOperationsTimeout(r.model(), r.operations, left) {
		case porcupine.Unknown:
			return fmt.Sprintf("undecided within %v", timeout)
		case porcupine.Illegal:
			bad = fmt.Sprintf("%s of %s", r.field, r.object)
		}
		if bad != "" {
			break
		}
	}
	return compared(bad, j)
}

func compared(bad string, j *judging) string {
	losses := j.found.LostUpdates() + j.found.Phantom - j.deletions
	switch {
	case bad == "" && losses == 0:
		return "agrees: linearisable"
	case bad != "" && losses > 0:
		return "agrees: both see losses"
	case bad != "":
		return fmt.Sprintf("disagrees: porcupine finds %s not linearisable, the oracle finds nothing lost", bad)
	}
	return fmt.Sprintf("disagrees: porcupine finds all fields linearisable, the oracle finds %d values lost or phantom", losses)
}
