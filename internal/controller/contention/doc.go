// Package contention knows which managers are in each other's way: it is shown each
// change of managed fields, and says what goes on, and which fields ours may not
// force meanwhile. It has no client; package fights shows it what the watches see and
// tells people.
//
// # Fights
//
// Two managers take one field from each other (fieldowners.Fights). One of them is
// ours, or the object belongs to us. Where ours takes it by Server-Side Apply it has
// a breaker, which State.Guard puts before every force:
//
//	open       ours does not force the field, so that the value of the other stays
//	half-open  after a cool-down: one force is allowed
//	on trial   ours has the field: if it is taken back the breaker opens again, for
//	           twice as long; if it is not, the fight is over
//
// What ours writes by get-modify-update takes fields without asking: such a fight is
// told, and goes on.
//
// # Loops
//
// Two of our managers write in turn and leave each other's fields alone, on one object or
// on a parent and what it controls: each answers the other. It is seen from the watch
// too, and so counts only what changed something: the answer of an apply cannot tell,
// once somebody else has written in between.
//
//   - A write is its manager's whose entry has a new time or new fields. Times are in
//     seconds: of a loop that is faster, a turn or two a second are seen, which is
//     enough.
//   - Many writes of one manager are none, whatever it writes: a status that
//     progresses, a thousand pods.
//   - A write of somebody else, but to a status, begins the count anew: what a person
//     or a foreign controller drives is no loop of ours.
//
// # Unknown writers
//
// Somebody else applies under the name of a manager that this process runs: the watch shows
// resourceVersions that no apply of ours was answered with (State.Sent). A write counts
// where it is certain that it set values, and once its answer would have come. Fights
// and loops do not say so; it is told beside them.
//
// # Bounds
//
// 1,000 troubles at a time, 1,000 families, a minute of the past. What is idle is
// forgotten. A State is safe for concurrent use; it starts nothing.
package contention
