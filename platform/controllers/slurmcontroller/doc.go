// Package slurmcontroller reconciles a SlurmController: a StatefulSet of its name runs
// slurmctld in one pod, which login and REST clients and the slurmds of a NodeSet find by the
// Service NAME-controller. The SlurmController controls both, and they are garbage collected
// with it. An object of one of these names that is someone else's is left alone.
package slurmcontroller
