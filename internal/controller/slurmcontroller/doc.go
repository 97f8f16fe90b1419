// Package slurmcontroller reconciles a SlurmController: a StatefulSet of its name
// runs slurmctld in one pod, and the Service NAME-controller is how login and REST
// clients and the slurmds of a NodeSet find it. Both are controlled by it and
// collected with it. What has one of these names and is someone else's is left
// alone.
package slurmcontroller
