// Package lanes lets writers of one process take turns at an object, first come, first
// served.
//
// The API server repeats a Server-Side Apply that another write overtakes, inside and
// without a limit. With many writers of one object it is busy with repetitions. Writers
// of one process that take turns do not meet at the server, and their writes are never
// stale because of each other.
//
// One write at a time leaves the server idle, though, while an answer and the next request
// are on their way. So a lane has a width: how many joint writes are under way at once. It is
// one on a fast network, and grows with the product of round trip and writes a second. Both are
// measured while writers wait, and nothing is configured.
//
// # Contract
//
//  1. A lane belongs to an object: its group, kind, namespace and name. Writes to different
//     objects do not wait for each other.
//  2. Turns are taken in the order of coming. Waiting ends with the context.
//  3. Who enters has the lane alone, for a read and the write that follows from it. Who joins
//     writes without a read, beside others who joined, up to the width. Nobody passes one who
//     waits to be alone.
//  4. Of one writer, a field manager, one joint write is inside at a time, so that its writes
//     keep their order. Others pass those that wait for it.
//  5. Who is inside a lane and comes to it again gets a ReentryError: it would wait for itself.
//  6. Nothing is kept of an object that nobody is writing to, but for a second the pace of
//     a lane that had joint writes waiting.
//  7. Writers of other processes are not held up; they still meet ours at the server.
//  8. The round trip is measured by the caller's transport, where Measure asks it to. Until it is known, the
//     width is one.
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
// Invalid: a wait for another goroutine that writes to the same object, from inside its
// lane. Both wait until the context ends.
package lanes
