package apply_test

import (
	"slices"
	"testing"

	"coapply.dev/apply"
)

func TestForceThatComesLate(t *testing.T) {
	create := apply.Intent{Config: wholeWeb()}
	var contended []func(*world)
	for i := range 8 {
		contended = append(contended, before(4+3*i, touched))
	}
	sent := append([]string{whole}, slices.Repeat([]string{read, whole, forces}, 8)...)
	play(t, map[string]scene{
		"stale once": {
			reason: "the object changed after the read: judged again, pinned to a new read", policy: force, happens: before(4, touched),
			sent: []string{whole, read, whole, forces, read, whole, forces}, action: apply.Configured, attempts: 5, conflicts: []string{forcedReplicas},
		},
		"stale, then another conflict": {
			reason: "what made it stale was a manager that must not be overruled", policy: forcesReplicas,
			intent:  apply.Intent{Config: replicasAndPause()},
			happens: allOf(owned(hpa), before(4, owned(hpa, kubectl))), sent: []string{whole, read, whole, forces, read, whole},
			attempts: 4, err: apply.ErrConflict,
			conflicts: []string{"Reject .spec.paused to false: owned by kubectl/Apply with value true", forcedReplicas},
		},
		"contended": {
			reason: "bounded, and never unpinned", policy: force, happens: allOf(contended...), sent: sent,
			attempts: 17, err: apply.ErrContended, conflicts: []string{forcedReplicas},
		},
		"deleted before the read": {
			reason: "an intent without uid may create it again", policy: force, intent: create, happens: before(2, removed),
			sent: []string{whole, read, whole}, action: apply.Created, attempts: 2,
		},
		"deleted before the read, back when judged": {
			reason: "a force needs a read to be pinned to", policy: force, happens: allOf(before(2, removed), before(3, appears)),
			sent: []string{whole, read, whole, read, whole, forces}, action: apply.Configured, attempts: 4, conflicts: []string{forcedReplicas},
		},
		"deleted before the force, and back": {
			reason: "what was judged is told, whatever comes after it", policy: force,
			happens: allOf(before(4, removed), before(6, appears), fails(7, forbidden)),
			sent:    []string{whole, read, whole, forces, read, whole, read}, attempts: 4, err: apply.ErrRefused, conflicts: []string{forcedReplicas},
		},
		"overtaken when judged, and pinned to nothing": {
			reason: "a race inside the server: all begins anew after a moment", policy: force,
			happens: allOf(fails(3, overtaken), before(4, owned(kubectl))), sent: []string{whole, read, whole, whole}, action: apply.Configured, attempts: 3,
		},
		"deleted before the force": {
			reason: "the uid keeps the force from creating an object", policy: force, intent: create, happens: before(4, removed),
			sent: []string{whole, read, whole, forces, read, whole}, action: apply.Created, attempts: 4,
		},
		"recreated before the force": {
			reason: "the new object is judged for itself", policy: force, happens: before(4, recreated(kubectl)),
			sent: []string{whole, read, whole, forces, read, whole}, action: apply.Configured, attempts: 4,
		},
	})
}

// An intent that carries a uid means that object, with or without MustExist.
func TestPinnedByTheIntent(t *testing.T) {
	play(t, map[string]scene{
		"absent": {
			reason:  "409 without causes; the read tells; nothing is created",
			happens: allOf(pinnedNow, removed), sent: []string{pinned, read}, err: apply.ErrUIDMismatch, attempts: 1,
		},
		"recreated": {
			reason:  "409 or 422",
			happens: allOf(pinnedNow, recreated(kubectl)), sent: []string{pinned}, err: apply.ErrUIDMismatch, attempts: 1,
		},
		"recreated with a conflict": {
			reason: "the conflict wins over the uid at the server; the read tells", policy: force,
			happens: allOf(pinnedNow, recreated()), sent: []string{pinned, read}, err: apply.ErrUIDMismatch, attempts: 1,
		},
		"recreated when judged": {
			reason: "what has the name now is not what is meant, and is not looked at", policy: force,
			happens: allOf(pinnedNow, before(3, recreated(kubectl))), sent: []string{pinned, read, pinned}, err: apply.ErrUIDMismatch, attempts: 2,
		},
		"gone when judged": {
			reason: "a 409 without causes inside the settling is no stale write", policy: force,
			happens: allOf(pinnedNow, before(3, removed)), sent: []string{pinned, read, pinned, read}, err: apply.ErrUIDMismatch, attempts: 2,
		},
	})
}
