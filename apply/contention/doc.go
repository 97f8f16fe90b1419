// Package contention finds managers that undo or answer each other's writes, and stops ours
// from forcing contested fields meanwhile. It has no client: its caller passes it what watches
// of metadata show, and reports what it returns.
//
// # Contract
//
//  1. There is one State in a process. State.Guard guards the policy of every Applier, and
//     State.Sent wraps its Metrics.
//  2. Each change of a watched object goes to State.Observe, in the order of the watch, as
//     Seen compares it; an object that is gone goes to State.Forget. Both return the objects
//     to look at with State.Take.
//  3. State.Take returns the troubles of an object, those that people have not been told of
//     yet, and when to look again.
//  4. A breaker stops a force, never an unforced apply.
//
// Valid:
//
//	state, err := contention.New(contention.Config{})
//	applier, err := apply.New(c, apply.Config{
//		FieldManager: "shop-web", LiveReader: live,
//		Policy:  state.Guard("shop-web", policy),
//		Metrics: state.Sent("shop-web", nil),
//	})
//
// Invalid: changes shown by a work queue, which keeps no order and merges changes.
//
// # Fights
//
// Two managers take one field from each other (fieldowners/fights.Detector), and one of them is
// ours, or the object belongs to one of ours. If ours takes it by Server-Side Apply, the field
// has a breaker, which State.Guard asks before every force:
//
//	open       ours does not force the field, so the other's value stays
//	half-open  after a cool-down: one force is allowed, which its answer ends, or the watch
//	on trial   ours has the field: if it is taken back the breaker opens again, for
//	           twice as long; if it is not, the fight is over
//
// Get-modify-update takes fields without a conflict: that fight is reported, and goes on.
//
// # Loops
//
// Two of our managers write in turn without taking each other's fields, on one object or on a
// parent and what it controls: each answers the other. Loops are found in the watch, too, which
// shows only writes that changed something; the answer of an apply does not show that once
// somebody else has written in between.
//
//   - A write belongs to the manager whose entry has a new time or new fields. Times are in
//     seconds, so of a faster loop one or two turns a second are seen, which is enough.
//   - Many writes of one manager are not a loop: a status that progresses, a thousand pods.
//   - A write of somebody else, except to a status, restarts the count: what a person or a
//     foreign controller drives is not a loop of ours.
//
// # Unknown writers
//
// Somebody else applies under the name of a manager that this process runs: the watch shows
// resourceVersions that no apply of ours was answered with (State.Sent). A write counts if it
// certainly set values, and once its answer would have arrived.
//
// # Bounds
//
// 1,000 troubles at a time, 1,000 families, a minute of the past. Idle entries are forgotten. A
// State is safe for concurrent use, and starts no goroutine.
package contention
