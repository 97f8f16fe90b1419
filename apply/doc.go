// Package apply writes to Kubernetes objects by Server-Side Apply (KEP-555), so that many controllers can share an
// object without overwriting each other.
//
// An Intent is an apply configuration for one object, with options. An Applier applies intents under one field manager.
// Its Policy decides the ownership conflicts. Each Apply returns one Outcome.
//
// # What the package promises
//
//  1. An intent is first sent without force. If another manager owns a field of the intent with another value, the API
//     server reports a conflict. The Policy decides on each Conflict, which contains both values and the other owner.
//     The zero Policy rejects every conflict.
//  2. Reject applies no field of the intent. Force takes only the fields that the policy decides to force, even if
//     other managers write at the same time. If they write too often, the error is a ContendedError and no field is
//     forced. Relinquish leaves the field to its owner, and Share owns the field together with its owner, with the
//     owner's value. Both apply the rest of the intent, and no other manager loses a field.
//  3. A deleted object is not recreated by an intent that is pinned to a uid, sets MustExist, or has relinquished or
//     shared fields.
//  4. An intent with Belongs never adopts an object that somebody else created, even if the object is created at the
//     same moment.
//  5. The package never changes the caller's apply configuration.
//  6. Each class of failure has one typed error, see errors.go. An ownership conflict is never retried, and never
//     treated as a stale write, although both are HTTP 409. Transient errors are retried, up to three attempts in all.
//
// # Many writers of one object
//
// If another write changes the object while the API server processes an apply, the API server repeats the apply
// internally, without a limit. With many writers, the API server spends its time on such repetitions. Lanes avoid this:
// they serialise the writes of one process to one object. Give one set of lanes to all writers, in Config.Lanes of this
// package and of apply/update:
//
//	lanes := lanes.New() // one per process
//
// A call occupies the object's lane from the first request of an attempt to the last, but not during a back-off. On a
// slow network, applies of different field managers that need no preceding read may be in the lane at the same time.
// Their maximum number grows with the round-trip time, which is measured if RecordExchange wraps the client's
// transport. Every intent is sent: the lane neither merges nor drops intents.
//
// # Intents that change nothing
//
// Most reconciles change nothing. SteadyState detects such intents without a request. Give one SteadyState to all
// Appliers of a process, in Config.Steady:
//
//	steady, err := apply.NewSteadyState(mgr.GetCache(), discoveryClient.OpenAPIV3())
//
// SteadyState proves, from the cached object and the API server's schemas, that an intent would change neither a value
// nor an owner. Such an intent is not sent, and its Outcome is Unchanged. An intent without a proof is sent.
//
// # What the caller does
//
//  1. Give each reconciler its own field manager. Put all fields that the reconciler wants to own into each intent: the
//     field manager gives up a field that its next intent omits.
//  2. Build intents with the constructors of apply configurations. Do not build intents from typed objects, because
//     zero values would also be sent, or from objects that were read from the API server.
//  3. If the Outcome is Absent, wait for the object by a watch.
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
// Invalid: retry.RetryOnConflict around Apply. RetryOnConflict would treat an ownership conflict as a stale write, and
// use up its attempts: an ownership conflict lasts until one of the two managers gives the field up.
//
// Invalid: two reconcilers under one field manager. Each removes the fields of the other one.
//
// # The verbs
//
//   - Applier.Apply applies an intent, and Applier.Plan shows what Apply would change.
//   - Package ownership moves fields from other field managers to the Applier's field manager, and back. The other
//     field managers may have written by Update or by Apply. It also gives up all fields that a field manager applied.
//   - Package applyset applies a set of objects that belongs to a parent object, and deletes the objects that are no
//     longer in the set (KEP-3659).
//
// To write a status, use Intent.Subresource and Conditions, or package apply/update. To write finalizers, use package
// apply/update.
//
// # Permissions
//
// Apply needs permission to get and patch the resource, or the subresource that is written, such as deployments/status.
// For objects that may not exist yet, Apply also needs create. The cache needs list and
// watch: without them each intent is sent, and objects of intents with MustExist or Belongs are read from the API
// server.
//
// # Where to find what
//
// An Apply passes through these files, in this order:
//
//   - apply.go runs the steps of the call, and retries.
//   - steady.go tries to prove that nothing would change, with package steady.
//   - intent.go decodes and checks the intent. target.go finds the object of an intent with MustExist or Belongs.
//   - settle.go is one attempt. Package decide is its protocol: it returns the next step.
//   - request.go sends an apply, and classifies the error.
//   - conflict.go and policy.go decide on the conflicts, which package whatif also computes from a read object.
//   - concede.go leaves out relinquished fields, and sets the live values of shared fields.
//   - outcome.go checks the response, and reports the Outcome.
package apply
