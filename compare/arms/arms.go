// Package arms contains the arms of the benchmark. An arm is one way to write objects. Each arm calls its libraries
// in the same way as user code.
package arms

import (
	"context"

	"coapply.dev/apply"
	"coapply.dev/compare"
)

// All returns the arms in this order: arms without Server-Side Apply, arms with Server-Side Apply, arms that write
// like existing systems, and the negative controls.
func All() []compare.Arm {
	return []compare.Arm{
		{
			Name: "gmu-default-retry", New: made(gmuDefaultRetry),
			Summary: "get-modify-update in client-go's RetryOnConflict with DefaultRetry (5 attempts)",
		},
		{
			Name: "gmu-requeue", New: made(gmuRequeue), Cached: true,
			Summary: "like a controller: reads from the cache, and sends an update unless nothing changed; retries a stale write " +
				"after the back-off of a rate-limited queue",
		},
		{
			Name: "gmu-unbounded", New: made(gmuUnbounded),
			Summary: "get-modify-update until it succeeds, with full jitter",
		},
		{
			Name: "patch-lock", New: made(patchLock),
			Summary: "get, modify, merge patch with resourceVersion (DefaultRetry)",
		},
		{
			Name: "gmu-lanes", New: made(gmuLanes),
			Summary: "get-modify-update (DefaultRetry), one write at a time per object in this process",
		},
		{
			Name: "update", New: made(fallback),
			Summary: "coapply's fallback: get-modify-update in lanes; each update changes only the fields that the writer changed",
		},
		{
			Name: "ssa", New: made(ssa),
			Summary: "Server-Side Apply, not forced",
		},
		{
			Name: "ssa-force", New: made(ssaForce),
			Summary: "Server-Side Apply with force: takes fields that other managers own",
		},
		{
			Name: "ssa-lanes", New: made(ssaLanes),
			Summary: "Server-Side Apply, not forced, one write at a time per object in this process",
		},
		{
			Name: "apply", New: made(applier), Cached: true,
			Summary: "coapply's Applier: Server-Side Apply in lanes that rejects ownership conflicts, and sends nothing if nothing changes",
		},
		{
			Name: "apply-force", New: made(applierWith(apply.Force)), Cached: true,
			Summary: "like apply, but takes the fields that other managers own, after it has seen who owns them",
		},
		{
			Name: "apply-relinquish", New: made(applierWith(apply.Relinquish)), Cached: true,
			Summary: "like apply, but leaves contested fields to their owners, and applies the rest of the intent",
		},
		{
			Name: "apply-1", New: made(applierOfWidth(1)), Cached: true,
			Summary: "like apply, with one write to an object at a time in this process",
		},
		{
			Name: "apply-2", New: made(applierOfWidth(2)), Cached: true,
			Summary: "like apply, with at most two writes to an object at a time in this process",
		},
		{
			Name: "apply-3", New: made(applierOfWidth(3)), Cached: true,
			Summary: "like apply, with at most three writes to an object at a time in this process",
		},
		{
			Name: "apply-4", New: made(applierOfWidth(4)), Cached: true,
			Summary: "like apply, with at most four writes to an object at a time in this process",
		},
		{
			Name: "naive", New: made(naive), Cached: true, Whole: true,
			Summary: "get, modify, update without a retry; for a set of pods, creates or deletes the difference to the number in the cache",
		},
		{
			Name: "expectations", New: made(withExpectations), Cached: true, Whole: true,
			Summary: "like naive, but writes to a set of pods only when the cache shows all earlier writes",
		},
		{
			Name: "gmu-replace", New: made(gmuReplace),
			Summary: "like gmu-default-retry, but replaces a whole part of the object, such as status: a mistake that loses updates",
		},
		{
			Name: "gmu-exponential", New: made(gmuExponential),
			Summary: "get-modify-update, 4 attempts with waits of 100, 200 and 400 ms",
		},
		{
			Name: "put-no-rv", New: made(putNoRV), Control: true,
			Summary: "negative control: get, modify, update without resourceVersion",
		},
		{
			Name: "shared-manager", New: made(sharedManager), Control: true,
			Summary: "negative control: Server-Side Apply by all writers under one field manager",
		},
	}
}

// writer is a function that implements an arm. A call writes one intent.
type writer func(context.Context, compare.Intent) (compare.Receipt, error)

// Write replaces the Pause of the intent, and then calls w. w can call the new Pause after every read: only the first
// call waits, by calling the original Pause. If the original Pause is nil, no call waits.
func (w writer) Write(ctx context.Context, intent compare.Intent) (compare.Receipt, error) {
	pause, paused := intent.Pause, intent.Pause == nil
	intent.Pause = func(ctx context.Context) error {
		if paused {
			return nil
		}
		paused = true
		return unsent(pause(ctx))
	}
	receipt, err := w(ctx, intent)
	if err != nil {
		return compare.Receipt{}, err
	}
	return receipt, nil
}

// made adapts the given function to the type of Arm.New.
func made(arm func(compare.Session) writer) func(compare.Session) (compare.Writer, error) {
	return func(session compare.Session) (compare.Writer, error) { return arm(session), nil }
}
