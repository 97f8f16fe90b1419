package arms

import (
	"context"

	"coapply.dev/compare"
)

// getModifyUpdate makes one attempt: it reads the object, modifies it and updates it.
func getModifyUpdate(ctx context.Context, s compare.Session, intent compare.Intent) (compare.Receipt, error) {
	c := s.Client(intent.Manager)
	object, err := read(ctx, c, intent)
	if err != nil {
		return compare.Receipt{}, err
	}
	if err := intent.Modify(object); err != nil {
		return compare.Receipt{}, err
	}
	return put(ctx, c, intent, object)
}

// getModifyUpdates returns the arms without Server-Side Apply, except the arms of originals and controls.
func getModifyUpdates() []compare.Arm {
	return []compare.Arm{
		{
			Name: "gmu-default-retry", Summary: "get-modify-update in client-go's RetryOnConflict with DefaultRetry (5 attempts)",
			Source: source("gmuDefaultRetry", "getModifyUpdate"), New: made(gmuDefaultRetry),
		},
		{
			Name: "gmu-requeue", Cached: true,
			Summary: "like a controller: reads from the cache, and sends an update unless nothing changed; retries a stale write " +
				"after the back-off of a rate-limited queue",
			Source: source("gmuRequeue", "reconcile", "awaitOwn"), New: madeWithCache(gmuRequeue),
		},
		{
			Name: "gmu-unbounded", Summary: "get-modify-update until it succeeds, with full jitter",
			Source: source("gmuUnbounded", "getModifyUpdate"), New: made(gmuUnbounded),
		},
		{
			Name: "patch-lock", Summary: "get, modify, merge patch with resourceVersion (DefaultRetry)",
			Source: source("patchLock"), New: made(patchLock),
		},
		{
			Name: "gmu-lanes", Summary: "get-modify-update (DefaultRetry), one write at a time per object in this process",
			Source: source("gmuLanes", "getModifyUpdate"), New: made(gmuLanes),
		},
		{
			Name: "update", Summary: "coapply's fallback: get-modify-update in lanes; each update changes only the fields that the writer changed",
			Source: source("fallback"), New: made(fallback),
		},
	}
}
