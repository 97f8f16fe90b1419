// Command generate writes files that are derived from the platform's CRDs and from its contract: the list of the
// fields that each field manager may own. make generate runs it after controller-gen has written the CRDs, and before
// controller-gen writes the manager's role.
//
//	config/contract.yaml           the contract, for kubectl fieldowners audit --contract
//	config/admission/field_managers.yaml the policies that reserve the platform's field managers
//	config/admission               the list of kinds in the policy on the size of metadata
//	config/rbac                    an admin, an editor and a viewer ClusterRole for each kind
//	config/{crd,rbac,samples}      the list of files in each kustomization.yaml
//
// In files that also have manually written lines, the generated lines are between two comments.
package main
