// Package explore runs the real code of coapply in every order of requests, cache events and faults, for a few writers
// of one object. It is a model checker for real code. The API server is applytest.NewServer, which is compared with a
// kube-apiserver. The writers are an Applier, an Updater, a drop-in client, a reconciler and package ownership.
//
//	make explore                                                    # all worlds, and the planted faults
//	make explore WORLD='force against force'                        # one world
//	make explore WORLD='force against force' SCHEDULE='A A B B~ A'  # one schedule, step by step
//
// # Schedules
//
// A World has actors, which are goroutines in a bubble of testing/synctest. Each request of an actor stops before it is
// sent. When all actors have stopped, the explorer chooses the next step. A schedule is the sequence of these steps:
//
//	A    the API server handles the request of actor A, and A runs until its next request; the first A starts the actor
//	A?   the request of A is lost
//	A~   the API server handles the request of A, and its response is lost
//	A!   the process of A crashes and starts again, and the request of A is not sent
//	A^   the process of A crashes and starts again, after the API server has handled the request of A
//	+p   the cache of process p gets the event of the next write
//	.    time passes, which is possible if each actor waits for a time
//
// The steps ?, ~, ! and ^ are faults; a schedule has at most one. A cache may be up to World.Lag events behind. The
// clock is that of the bubble, so the waits between retries take no real time.
//
// # States
//
// A state consists of all versions of the objects, the positions of the caches, the responses and cache reads of each
// actor, and whether the fault was used.
// Two schedules that lead to the same state have the same continuations, so the explorer continues only one of them. In
// particular, it does not explore the two orders of two independent reads twice. The uids, resourceVersions
// and namespaces in a state are replaced by numbers in the order in which they first occur. Times are left out.
package explore
