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
//  5. A change of a child leads to a reconcile if it changes more than the child's status. See
//     Builder.Owns.
//  6. With WithBreaker, a field that another field manager takes back again and again is not
//     forced for some time. An event names both field managers. See package breaker.
//  7. New starts no controller and no informer. It wraps the transport of the manager's HTTP
//     client, to see requests and responses, and changes nothing else of the manager.
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
package coapply
