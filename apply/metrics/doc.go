// Package metrics counts what coapply does, for Prometheus. It implements
// apply.Metrics; hand the same value to every applier and updater of the process:
//
//	counted, err := metrics.New(ctrlmetrics.Registry)
//	applier, err := apply.New(mgr.GetClient(), apply.Config{Metrics: counted, ...})
//
// # Metrics
//
//	name                             type       labels
//	coapply_apply_total              counter    field_manager kind result
//	coapply_apply_requests_total     counter    field_manager kind
//	coapply_apply_attempts           histogram  field_manager kind
//	coapply_apply_duration_seconds   histogram  field_manager kind result
//	coapply_apply_loops_total        counter    field_manager kind
//	coapply_conflicts_total          counter    field_manager kind decision
//	coapply_update_total             counter    field_manager kind verb result
//	coapply_update_attempts          histogram  field_manager kind verb
//	coapply_update_duration_seconds  histogram  field_manager kind verb result
//	coapply_stale_writes_total       counter    field_manager kind verb
//	coapply_lane_wait_seconds        histogram  field_manager kind
//
// An apply that needs no request is observed with 0 attempts. Conflicts are ownership
// conflicts, by what was decided; a conflict that was settled with the same owner in an earlier
// apply is not counted again. A resourceVersion mismatch is a stale write. A loop is what apply.Loops detects.
// The lane wait is that for the object's lane over all tries of a call, and
// part of the duration.
//
// # Labels
//
// Every label is bounded by the program and the cluster's kinds; no object,
// namespace or error text is in any of them.
//
//   - field_manager: as configured, one per reconciler.
//   - kind: Kind.group, such as Deployment.apps, and Pod for the core group. No
//     version, so that an upgrade does not start new series.
//   - result: of an apply its action (Created, Configured, Unchanged, Absent), of an
//     update Success; after an error the word of apply.ResultOf, and of an update
//     Exhausted, NotFound or Cancelled as well.
//   - verb: Do, Status, EnsureFinalizer or RemoveFinalizer.
//   - decision: of the policy about the field: Reject, Force, Relinquish or Share.
package metrics
