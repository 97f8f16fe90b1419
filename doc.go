// Package coapply is the front door: it finds in a controller-runtime manager what the packages
// below it need, and sets up the controllers of a process.
//
// Once a process, before the manager starts:
//
//	rt, err := coapply.New(mgr)
//
// A controller that exists gets another client.Client, and stays as it is:
//
//	c := rt.Client("shop-web", apply.OnConflict(apply.Reject))
//	err = c.Apply(ctx, deployment)
//
// A new one is a pure function from its parent to what the parent calls for:
//
//	err = coapply.For(rt, "shop-web", emit). // func(*Shop) ([]apply.Intent, error)
//		Owns(&appsv1.Deployment{}).
//		OnConflict(apply.OnConflict(apply.Reject).At(".spec.replicas", apply.Force)).
//		Complete()
//
// # What the package promises
//
//  1. Applies by a Client, an Applier or a controller of a Runtime, and writes by its Updaters,
//     take turns at their object, so that the writes of one process do not make the API server
//     repeat each other.
//  2. Nothing is sent if it is proven that nothing would change, from the manager's cache and
//     with the server's own schemas.
//  3. A conflict is a typed error that names the field, both values and the other owner.
//     errors.As still finds the API server's answer in it.
//  4. A cache that strips managed fields is refused, by an error that names the option.
//  5. What others write to a child wakes the controller if it is drift, a change of the
//     controller's own fields, and usually not otherwise. See Builder.Owns.
//  6. A field that two managers take from each other again and again is not forced for a
//     while. An event names both, as does the condition Contended of the parent, where its
//     status.conditions are a map by type. See package contention/watch, and
//     WithContention to configure it or leave it out.
//
// # What the caller does
//
//  1. Calls New before the manager is started, and once: each Runtime has turns of its own.
//  2. Names one field manager per controller. Two under one name undo each other.
//  3. Watches what it applies to, as any controller does.
//
// Objects that the manager does not cache, such as those of kinds in
// client.CacheOptions.DisableFor and unstructured ones of kinds that its scheme does not know,
// are read with a request before each apply.
//
// Invalid: client.Patch with client.Apply through this client, which sends it as it is. Call
// Apply.
package coapply
