package oracle

import (
	"fmt"
	"time"

	"github.com/anishathalye/porcupine"

	"coapply.dev/compare/history"
)

// longest is the maximum number of operations on one field that CrossCheck accepts. The memory that porcupine needs
// grows with the square of this number.
const longest = 20_000

// CrossCheck checks the history with porcupine, a linearisability checker, and compares the result with the result of
// Judge. It returns "agrees: linearisable", "agrees: both see losses" or "disagrees: ...". It returns "undecided ..." if
// the timeout passes, if the history has a gap, or if the history is too long.
//
// CrossCheck models every tracked field of every object as a register or a counter. A history of only writes is always
// linearisable. CrossCheck therefore models every version as an atomic read, in the order of revisions:
//
//   - A version is read after the start of the writes that it contains. It is read before the first response with its
//     revision or a later revision.
//   - An acknowledged write happens during its request, just before the acknowledged version. A write that changed nothing
//     happens just after the acknowledged version.
//   - A write without an acknowledgement happens at any time after its start, or never.
//   - Deletions, first versions, and removals by a field's own manager reset the register. Only Judge checks these changes.
func CrossCheck(h history.History, timeout time.Duration) string {
	until := time.Now().Add(timeout)
	j := judge(newIndex(h))
	if j.gap != "" {
		return "undecided: " + j.gap
	}
	bad := "" // the first field that is not linearisable
	for _, r := range registers(newIndex(h), j.resets) {
		if len(r.operations) > longest {
			return fmt.Sprintf("undecided: %d operations on the field %s of %s are too many to check", len(r.operations), r.field, r.object)
		}
		left := time.Until(until)
		if left <= 0 {
			return fmt.Sprintf("undecided: porcupine did not finish within %v", timeout)
		}
		switch porcupine.CheckOperationsTimeout(r.model(), r.operations, left) {
		case porcupine.Unknown:
			return fmt.Sprintf("undecided: porcupine did not finish within %v", timeout)
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
		return fmt.Sprintf("disagrees: porcupine finds %s not linearisable, but the oracle finds no lost or phantom values", bad)
	}
	return fmt.Sprintf("disagrees: porcupine finds all fields linearisable, but the oracle finds %d lost or phantom values", losses)
}
