// Package contention knows which managers are in each other's way: it is shown each
// change of managed fields, and says what goes on, and which fields ours may not
// force meanwhile. It has no client: give it what watches of metadata see, and tell people
// what it says.
//
// # Contract
//
//  1. One State a process. Every Applier has its policy guarded by State.Guard and its
//     Metrics wrapped by State.Sent.
//  2. Each change of a watched object goes to State.Observe, in the order of the watch, as
//     Seen compares it; an object that is gone to State.Forget. Both return the objects to
//     look at with State.Take.
//  3. State.Take returns what goes on about an object, what people have not heard of yet,
//     and when to look again.
//  4. A breaker stops a force, never an apply that is not forced.
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
// Invalid: changes shown by a work queue. It keeps no order, and merges changes.
//
// # Fights
//
// Two managers take one field from each other (fights.Detector of fieldowners). One of them is
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
