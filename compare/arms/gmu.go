package arms

import (
	"context"

	"coapply.dev/compare"
)

// gmu reads the live object, changes it and writes it back, once.
func gmu(s compare.Session) writer {
	return func(ctx context.Context, intent compare.Intent) (compare.Receipt, error) {
		return getModifyUpdate(ctx, s, intent)
	}
}

// getModifyUpdate is one attempt.
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

func getModifyUpdates() []compare.Arm {
	return []compare.Arm{
		{
			Name: "gmu", Summary: "get, modify, update; no retry",
			Source: source("gmu", "getModifyUpdate"), New: made(gmu),
		},
		{
			Name: "gmu-default-retry", Summary: "get-modify-update in client-go's RetryOnConflict with DefaultRetry (5 attempts)",
			Source: source("gmuDefaultRetry", "getModifyUpdate"), New: made(gmuDefaultRetry),
		},
		{
			Name: "gmu-default-backoff", Summary: "get-modify-update in client-go's RetryOnConflict with DefaultBackoff (4 attempts)",
			Source: source("gmuDefaultBackoff", "getModifyUpdate"), New: made(gmuDefaultBackoff),
		},
		{
			Name: "gmu-unbounded", Summary: "get-modify-update until it succeeds, with full jitter",
			Source: source("gmuUnbounded", "getModifyUpdate"), New: made(gmuUnbounded),
		},
		{
			Name: "gmu-exponential", Summary: "get-modify-update, 4 attempts with waits of 100, 200 and 400 ms",
			Source: source("gmuExponential", "getModifyUpdate"), New: made(gmuExponential),
		},
		{
			Name: "gmu-cached", Summary: "get-modify-update from a cache, nothing sent if nothing changed, live reads in retries (DefaultRetry)",
			Source: source("gmuCached"), Cached: true, New: madeWithCache(gmuCached),
		},
		{
			Name: "gmu-lanes", Summary: "get-modify-update, one at a time to an object in this process (DefaultRetry)",
			Source: source("gmuLanes", "getModifyUpdate"), New: made(gmuLanes),
		},
		{
			Name: "gmu-replace", Summary: "as gmu-default-retry, but the closure replaces all that the writer knows: a mistake that loses updates",
			Source: source("gmuReplace"), New: made(gmuReplace),
		},
	}
}
