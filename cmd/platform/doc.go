// Command platform builds, starts and shows the example platform on a local
// control plane. The manager is started beside it as a program of its own, with
// the rights of config/rbac.
//
//	platform demo    shows step by step what the project is for, and checks each step
//	platform run     keeps the same platform running, for kubectl
//	platform build   compiles the control plane, unless that is done
//	platform clean   deletes what this command keeps in the user's cache folder
package main
