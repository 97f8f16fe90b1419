package oracle

import (
	"fmt"
	"time"

	"github.com/anishathalye/porcupine"

	"coapply.dev/compare/history"
)

// longest is how many operations on one field are checked: the checker's memory grows with their square.
const longest = 20_000

// CrossCheck asks porcupine, a linearisability checker, whether the history is one of correct registers, and compares its
// word with Judge's. It returns "agrees: linearisable", "agrees: both see losses", "disagrees: ...", or "undecided ..." if
// the time is over, the history has a gap, or is too long.
//
// Every tracked field of every object is a register, or a counter, of its own. Blind writes alone are always
// linearisable; what makes losses visible are the versions: each is an atomic read, at some time between the latest
// beginning of a write that it holds and the first answer that names it or a later one, and reads happen in the order of
// their revisions. An acknowledged write happens within its interval, and next to the version that it was acknowledged
// at: before it, or after it if the value stands already. A write without an acknowledgement happens at any time after it
// began, or never. Deletions, what an object begins with, and what its own
// field manager gives up reset a register: of those only Judge judges.
func CrossCheck(h history.History, timeout time.Duration) string {
	until := time.Now().Add(timeout)
	j := judge(newIndex(h))
	if j.gap != "" {
		return "undecided: " + j.gap
	}
	bad := "" // the first register that is none
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
