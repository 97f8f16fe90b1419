package arms

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/compare"
)

// ssa applies the intent; an ownership conflict ends it.
func ssa(s compare.Session) writer {
	return func(ctx context.Context, intent compare.Intent) (compare.Receipt, error) {
		c := s.Client(intent.Manager)
		config, err := configure(ctx, c, intent)
		if err != nil {
			return compare.Receipt{}, err
		}
		return serverSideApply(ctx, c, intent, config, client.ApplyOptions{FieldManager: intent.Manager})
	}
}

// ssaForce takes every field that it wants.
func ssaForce(s compare.Session) writer {
	return func(ctx context.Context, intent compare.Intent) (compare.Receipt, error) {
		c := s.Client(intent.Manager)
		config, err := configure(ctx, c, intent)
		if err != nil {
			return compare.Receipt{}, err
		}
		return serverSideApply(ctx, c, intent, config, client.ApplyOptions{FieldManager: intent.Manager, Force: new(true)})
	}
}

// updateThenSSA updates, and applies when that came too late, as Kubernetes' DRA controllers did. The apply has to be
// forced: what this manager wrote by update would be in the way of what it applies.
func updateThenSSA(s compare.Session) writer {
	return func(ctx context.Context, intent compare.Intent) (compare.Receipt, error) {
		receipt, err := getModifyUpdate(ctx, s, intent)
		if !apply.IsStaleWrite(err) {
			return receipt, err
		}
		return ssaForce(s)(ctx, intent)
	}
}

// applies are the ways by Server-Side Apply.
func applies() []compare.Arm {
	return []compare.Arm{
		{
			Name: "ssa", Summary: "Server-Side Apply, not forced",
			Source: source("ssa", "serverSideApply"), New: made(ssa),
		},
		{
			Name: "ssa-force", Summary: "Server-Side Apply, forced",
			Source: source("ssaForce", "serverSideApply"), New: made(ssaForce),
		},
		{
			Name: "update-then-ssa", Summary: "get-modify-update, and forced Server-Side Apply after a stale write",
			Source: source("updateThenSSA", "getModifyUpdate", "ssaForce"), New: made(updateThenSSA),
		},
		{
			Name: "apply", Cached: true,
			Summary: "coapply's Applier: Server-Side Apply in lanes that rejects ownership conflicts, nothing sent if nothing changes",
			Source:  source("applier", "seen", "appliers"), New: madeWithCache(applier),
		},
	}
}
