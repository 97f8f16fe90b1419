// Package lanes lets writers of one process take turns at an object, first come, first
// served.
//
// The API server repeats a Server-Side Apply that another write overtakes, internally and
// without a limit: with many writers of one object it is busy with repetitions. Writers of one
// process that take turns cause no repetitions, and no stale writes, to each other.
//
// One write at a time leaves the server idle, though, while an answer and the next request
// are on their way. So a lane has a width: how many joint writes are under way at once. It
// is one on a fast network, and grows with the product of round trip and writes a second.
// Both are measured while writers wait, and nothing is configured.
//
// # Contract
//
//  1. A lane belongs to an object: its group, kind, namespace and name. Writes to different
//     objects do not wait for each other.
//  2. Turns are first come, first served. Waiting ends with the context.
//  3. A caller of Enter has the lane alone, for a read and the write that follows from it. A
//     caller of Join writes without a read, beside other joint writes, up to the width. Nobody
//     passes a caller that waits to be alone.
//  4. Each writer, a field manager, has at most one joint write inside, so that its writes keep
//     their order. Other writers pass those that wait for their own.
//  5. Entering or joining a lane from inside it is a ReentryError: the caller would wait for
//     itself.
//  6. Nothing is kept about an object that nobody is writing to, except, for a second, the pace
//     of a lane in which joint writes waited.
//  7. Writers of other processes are not held up; they still meet ours at the server.
//  8. The caller's transport measures the round trip when Measure returns a Probe. Until the
//     round trip is known, the width is one.
//
// Give one Set to all appliers and updaters of a process.
//
// Valid:
//
//	inside, leave, err := set.Enter(ctx, key)
//	defer leave()
//	if err != nil {
//		return err
//	}
//	return write(inside)
//
// Invalid: waiting, inside a lane, for another goroutine that writes to the same object. Both
// wait until the context ends.
package lanes
