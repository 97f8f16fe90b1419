// Command generate writes what follows from the contract of the platform and from its CRDs;
// make generate runs it between controller-gen's CRDs and controller-gen's role.
//
//	config/contract.yaml           the contract itself, for kubectl fieldowners audit --contract
//	config/admission               the kinds of the policies
//	config/rbac                    an admin, an editor and a viewer role for each kind
//	config/{crd,rbac,samples}      which files kustomize installs
//
// A file that a person writes as well has the generated lines between two comments.
package main
