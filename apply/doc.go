// Package apply writes intents to Kubernetes objects by Server-Side Apply (KEP-555),
// so that many controllers can share an object without overwriting each other.
//
// An Intent is an apply configuration and how to apply it. An Applier sends intents under one
// field manager, has a Policy settle their conflicts, and reports one Outcome for each.
//
// # What the package promises
//
//  1. An intent is sent unforced first. What another manager owns and sets
//     differently is a Conflict, with both values and the other owner, and the
//     Policy decides it field by field. The zero Policy rejects.
//  2. Reject lets nothing of the intent land. Force takes the fields that were
//     judged and no others, whatever other managers write meanwhile; when they write
//     too often the error is a ContendedError and nothing was forced. Relinquish
//     leaves the field to its owner, Share co-owns it with the owner's value; the
//     rest of the intent lands, and nobody loses a field by it.
//  3. An object that was deleted is never brought back by an intent that is pinned
//     to a uid or has MustExist, nor by what is left of an intent after it gave way,
//     nor by Release.
//  4. An object that somebody else made is not adopted by an intent with Belongs,
//     whenever it appears.
//  5. The caller's configuration is never written to.
//  6. Each class of failure has one typed error, see errors.go. An ownership
//     conflict is never retried, and never taken for a stale write, though both
//     are HTTP 409. What fails for the moment is tried three times.
//
// # Many writers of one object
//
// The API server repeats a Server-Side Apply that another write overtakes, internally and
// without a limit: with many writers it is busy with repetitions. Lanes let the writers of one
// process take turns instead. Give one set, by Config.Lanes of this package and of
// apply/update, to all of them:
//
//	lanes := lanes.New() // one a process
//
// The lane is held from the first request of a try to its last, not while the call
// backs off. Where the network is slow, applies that need no read are under way together,
// as many as keep the server busy and never two of one field manager; that takes
// RecordExchange. Every intent is sent; none is merged with another one or dropped.
//
// # Intents that change nothing
//
// Most reconciles have nothing to change, and need no request to know it. Give all
// appliers of a process one SteadyState, by Config.Steady:
//
//	steady, err := apply.NewSteadyState(mgr.GetCache(), discoveryClient.OpenAPIV3())
//
// It proves from the object in the cache, with the server's own schemas, that neither a value
// nor an owner would change: the Outcome is then Unchanged, with no attempt. An intent without
// a proof is sent.
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
//		Lanes:        lanes,
//		Steady:       steady,
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
// Invalid: two appliers under one field manager. Each gives up what only the other
// one lists.
//
// # The verbs
//
//   - Applier.Apply brings an object to an intent, and Applier.Plan shows what that
//     would change, take and drop.
//   - Applier.Release gives up every field that the manager applied.
//   - Package ownership moves fields to the manager, from managers that wrote by
//     Update or by Apply, and back.
//   - Package applyset applies what a parent emits, and deletes what it emitted before
//     and no longer does (KEP-3659).
//
// A status is applied with Intent.Subresource and Conditions, or written by
// apply/update, where finalizers belong.
//
// # Rights
//
// Applying needs get and patch on the resource, or on the subresource that is written, such as
// deployments/status, and create if an object may be new. Release needs no more. The cache
// needs list and watch: without them each intent is sent, and objects of intents with MustExist
// or Belongs are read live.
//
// # Where to find what
//
// The eight steps of an apply are in apply.go, in order. What each takes and returns is
// beside it: target.go is what a call knows of its object, steady.go returns a proof (by
// package steady), request.go takes a request and returns an answer, concede.go returns what
// the intent gives way in, settle.go takes and returns a settlement. Each other verb has a file
// of its own.
package apply
