// Package nodemaintenance cordons and uncordons nodes, a few at a time. A NodeMaintenance is
// done once: its nodes are picked once, and each gets one result.
//
//	pick.go     which nodes the work is about
//	plan.go     which nodes next, and what the status says: pure
//	marks.go    what of a maintenance stands on a node, and whose it is: pure
//	intent.go   what is applied to a node: pure
//	apply.go    the way of Server-Side Apply
//	update.go   the fallback: get-modify-update with four attempts
//	work.go     one wave: nodes side by side, each until its deadline
//	reconcile.go, setup.go
//
// A reconcile does one wave. The nodes of a wave, with the time at which their turn
// came, stand in the status before the first of them is written to, and one status
// write records what became of them and begins the next wave. So a manager that
// dies in between repeats a wave and nothing else; to a node that was done it writes
// nothing, and a node's deadline does not begin anew.
//
// Nodes are read live, never from a cache: as the work is done once, a mistake by an old view
// would not be corrected later.
package nodemaintenance
