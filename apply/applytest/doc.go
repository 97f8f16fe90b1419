// Package applytest tests reconcilers that write with package apply.
//
//   - Golden compares the intents of a pure function with a file. Read a golden file before
//     committing it: each line is a field that the reconciler will own. A golden file of an
//     intent that was built from a typed object contains zero values, which are claims like any
//     other.
//   - Owns checks the intents against the contract of the field manager.
//
// # Tests without an API server
//
// Apply works on controller-runtime's fake client, with conflicts on built-in kinds and with
// forced applies of objects that have a uid. Package interceptor of controller-runtime makes a
// call of that client fail. The fake client differs from an API server as follows (v0.25). For
// tests that depend on one of these points, or on applies that change nothing, use envtest:
//
//   - A dry run of an apply is an apply: Applier.Plan writes.
//   - An object that an apply creates has no uid, so no write can be pinned to the object:
//     Force, Release and Rename are refused. Give the client objects with a uid (WithObjects).
//   - The uid in an apply is not compared, but replaces that of the object.
//   - Unknown fields, kinds and namespaces are accepted, and so is a Body of another kind than
//     the subresource's.
//   - Lists of custom resources are atomic.
//   - For a kind in its scheme it applies the configuration as the Go type writes it, with zero
//     values. So an apply of fewer fields, such as that to a parent with
//     reconciler.Config.Prune, conflicts over each field without omitempty that somebody owns.
//     Give these fields omitempty (the CRD may still require them).
//   - Its RESTMapper knows no kinds, which Round.Prune needs: give the client a mapper that was
//     made with their group versions (WithRESTMapper).
package applytest
