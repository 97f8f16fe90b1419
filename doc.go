// Package coapply sets up the controllers of a process that write by Server-Side Apply, on a
// controller-runtime manager. It is the entry point of the module.
//
// Call New once in a process, before the manager starts:
//
//	rt, err := coapply.New(mgr)
//
// An existing controller only needs another client.Client:
//
//	c := rt.Client("shop-web", apply.OnConflict(apply.Reject))
//	err = c.Apply(ctx, deployment)
//
// A new controller is a pure function from a parent object to the intents for its children:
//
//	err = coapply.For(rt, "shop-web", emit). // func(*Shop) ([]apply.Intent, error)
//		Owns(&appsv1.Deployment{}).
//		OnConflict(apply.OnConflict(apply.Reject).At(".spec.replicas", apply.Force)).
//		Complete()
//
// # What the package promises
//
//  1. The writes of one process to one object are serialised: applies by a Client, an Applier or
//     a controller of a Runtime, and writes by its Updaters. So these writes never make the API
//     server repeat another write of the process.
//  2. No request is sent if the manager's cache and the API server's schemas prove that nothing
//     would change.
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
//  2. Names one field manager per controller. Two controllers that share a field manager remove
//     each other's fields.
//  3. Watches the objects that it applies to, as any controller does.
//
// Objects that the manager does not cache, such as those of kinds in
// client.CacheOptions.DisableFor and unstructured ones of kinds that its scheme does not know,
// are read with a request before each apply.
package coapply
