// Package apply writes intents to Kubernetes objects by Server-Side Apply, so that
// many controllers can share an object without overwriting each other.
//
// An Intent is an apply configuration with how to settle its conflicts. An Applier
// sends intents under one field manager and reports one Outcome for each.
//
// # What the package promises
//
//  1. An intent is sent unforced first. What another manager owns and sets
//     differently is a Conflict, with both values, and the Policy decides it field
//     by field. The zero Policy rejects.
//  2. Force takes the fields that were judged and no others, whatever other
//     managers write meanwhile; when they write too often the error is a
//     ContendedError and nothing was forced.
//  3. An object that was deleted is never brought back by an intent that is pinned
//     to a uid or has MustExist.
//  4. The caller's configuration is never written to.
//  5. Each class of failure has one typed error, see errors.go. An ownership
//     conflict is never retried, and never taken for a stale write, though both
//     are HTTP 409.
//
// # What the caller does
//
//  1. Names one field manager per reconciler, and lists in an intent every field
//     that the reconciler wants to own, each time: what is left out is given up.
//  2. Builds intents with the constructors of apply configurations, never from
//     typed objects (their zero values claim fields) and never from objects read.
//  3. Waits for an object whose Outcome is Absent by watching it.
//
// Valid, replicas and nothing else of an object that someone else creates:
//
//	applier, err := apply.New(mgr.GetClient(), apply.Config{
//		FieldManager: "example-autoscaler",
//		LiveReader:   mgr.GetAPIReader(),
//		Policy:       apply.OnConflict(apply.Reject).At(".spec.replicas", apply.Force),
//	})
//	outcome, err := applier.Apply(ctx, apply.Intent{
//		Config:    appsv1ac.Deployment(name, namespace).WithSpec(appsv1ac.DeploymentSpec().WithReplicas(3)),
//		MustExist: true,
//	})
//
// Invalid: retry.RetryOnConflict around Apply. It takes an ownership conflict,
// which lasts until someone gives way, for a stale write and burns its attempts on
// it.
//
// # Where the rest will stand
//
// The steps of an apply are in applier.go, in order. Still to come: lanes (one
// write at a time to one object) around all of run, the steady-state check before
// the first send, the decisions Relinquish and Share beside Force in policy.go and
// force.go, and the verbs Plan, Release, Migrate, Rename and Prune, each in a file
// of its own.
package apply
