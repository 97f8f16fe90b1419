// Package watch passes changes of objects, from watches of their metadata, to package
// contention, and reports troubles: in an event on the contested object and on the object that
// it belongs to, and there in the condition Contended, which it applies as
// contention.FieldManager and sets to False when they are over.
//
// A program that uses package coapply has it: coapply.New starts it. Else:
//
//	fights, err := watch.New(mgr, state, applier) // the applier forces: the condition asks nobody
//	err = fights.Parent(shopKind)                 // bears the condition
//	err = fights.Kind(deploymentKind)             // what a shop's controller applies to
//
// # What the package promises
//
//  1. Changes of one object come to the State in their order.
//  2. The condition of an object is never written before there was trouble. A condition that an
//     ended process left behind is found by its managed fields, and set to False unless the
//     trouble has begun anew by then.
//  3. The condition is applied only if the parent's status.conditions are a map by type
//     (+listType=map, +listMapKey=type): a list that is owned as a whole stays with its owner.
//     The log says so once.
//  4. Without the right to list a kind nothing waits and nothing fails: its fights are not
//     seen, and the log says so once.
//
// Invalid: two Watches of one State. Each change would count twice.
package watch
