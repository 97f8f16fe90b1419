// Package apply writes intents to Kubernetes objects by Server-Side Apply (KEP-555), so that many
// controllers can share an object without overwriting each other.
//
// An Intent is an apply configuration with options. An Applier sends intents under one field
// manager. Its Policy decides the ownership conflicts. Each apply returns one Outcome.
//
// # What the package promises
//
//  1. An intent is sent unforced first. If another manager owns a field with another value, the
//     field is in conflict. A Conflict has both values and the other owner, and the Policy decides
//     it field by field. The zero Policy rejects every conflict.
//  2. Reject: no field of the intent is applied. Force takes the fields that the policy decided on
//     and no others, even if other managers write at the same time. If they write too often, the
//     error is a ContendedError and nothing was forced. Relinquish leaves the field to its owner,
//     and Share co-owns the field with the owner's value. The rest of the intent is applied, and no
//     other manager loses a field.
//  3. A deleted object is never created again by an intent that is pinned to a uid or has
//     MustExist, by an intent with relinquished or shared fields, or by Release.
//  4. An intent with Belongs never adopts an object that somebody else created, even if the object
//     is created at the same moment.
//  5. The package never writes to the caller's apply configuration.
//  6. Each class of failure has one typed error, see errors.go. An ownership conflict is never
//     retried, and never mistaken for a stale write, although both are HTTP 409. Transient errors
//     are retried, up to three attempts in all.
//
// # Many writers of one object
//
// If another write changes the object during a Server-Side Apply, the API server repeats the apply
// internally and without a limit. With many writers the API server is busy with such repetitions.
// Lanes serialise the writers of one process per object instead. Give one set of lanes to all
// writers, in Config.Lanes of this package and of apply/update:
//
//	lanes := lanes.New() // one per process
//
// A call holds the lane from the first request of an attempt to the last, and not during a
// back-off. On a slow network, applies that need no read run at the same time: as many as keep the
// API server busy, and never two of one field manager. Such concurrency needs RecordExchange. Every
// intent is sent; no intent is merged with another one or dropped.
//
// # Intents that change nothing
//
// Most reconciles have nothing to change. SteadyState detects this without a request. Give all
// appliers of a process one SteadyState, in Config.Steady:
//
//	steady, err := apply.NewSteadyState(mgr.GetCache(), discoveryClient.OpenAPIV3())
//
// SteadyState proves, from the cached object and the API server's schemas, that neither a value nor
// an owner would change. The Outcome is then Unchanged, with no attempt. Other intents are sent.
//
// # What the caller does
//
//  1. Gives each reconciler its own field manager. Each intent lists all fields that the reconciler
//     wants to own: a field that the next intent omits is given up.
//  2. Builds intents with the constructors of apply configurations. Never builds them from typed
//     objects, whose zero values claim fields, or from objects that were read from the API server.
//  3. Waits for an object whose Outcome is Absent by watching it.
//
// Valid: an intent for the replicas of an object that someone else creates.
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
// Invalid: retry.RetryOnConflict around Apply. RetryOnConflict mistakes an ownership conflict, which
// lasts until one manager stops wanting the field, for a stale write, and uses up its attempts.
//
// Invalid: two appliers under one field manager. Each removes the fields of the other one.
//
// # The verbs
//
//   - Applier.Apply applies an intent, and Applier.Plan shows what Apply would change.
//   - Applier.Release gives up every field that the field manager applied.
//   - Package ownership moves fields to the field manager, from managers that wrote by Update or by
//     Apply, and back.
//   - Package applyset applies the objects that a parent emits, and deletes those that the parent
//     no longer emits (KEP-3659).
//
// A status is applied with Intent.Subresource and Conditions, or written by apply/update.
// Finalizers are written by apply/update.
//
// # Rights
//
// Applying needs get and patch on the resource, or on the written subresource, such as
// deployments/status. If an object may be new, applying also needs create. Release needs no further
// right. The cache needs list and watch: without them each intent is sent, and objects of intents
// with MustExist or Belongs are read from the API server.
//
// # Where to find what
//
// The eight steps of an apply are in apply.go, in order. target.go has what a call knows about its
// object, steady.go the proof that nothing would change (by package steady), request.go the
// requests, concede.go the relinquished and shared fields, and settle.go the settlement of
// conflicts. Each other verb has a file of its own.
package apply
