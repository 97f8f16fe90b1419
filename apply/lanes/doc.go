// Package lanes lets one writer at a time write to an object, first come, first served.
//
// The API server repeats a Server-Side Apply that another write overtakes, inside and
// without a limit. With many writers of one object it is busy with repetitions. Writers
// of one process that take turns do not meet at the server, and their writes are never
// stale because of each other.
//
// # Contract
//
//  1. A lane belongs to an object: its group, kind, namespace and name. Writes to different
//     objects do not wait for each other.
//  2. Turns are taken in the order of coming. Waiting ends with the context.
//  3. Who is inside a lane and enters it again gets a ReentryError: it would wait for itself.
//  4. Nothing is kept of an object that nobody is writing to.
//  5. Writers of other processes are not held up; they still meet ours at the server.
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
