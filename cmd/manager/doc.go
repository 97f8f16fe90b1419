// Command manager runs the reconcilers of platform/controllers against a cluster.
//
// A start goes through these steps, each with its own file, and ends at the first
// that fails with one line on stderr:
//
//  1. flags.go, validate.go: the flags make sense together; the ports are free.
//  2. cluster.go: there is a kubeconfig, the API server answers, it serves our
//     kinds, and the Lease of the leader election can be written.
//  3. manager.go: the reconcilers run until a signal or an error ends them.
//
// Without these checks a wrong setting would show up as a manager that waits for ever.
package main
