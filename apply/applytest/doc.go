// Package applytest tests reconcilers that write with package apply.
//
// # What there is
//
//  1. Golden compares the intents of a pure function with a file.
//  2. Owns checks what is emitted against the contract of the field manager.
//  3. Recorder counts the requests that go over the wire, by verb and by the class
//     of their answer.
//  4. Inject puts faults into a client, each in the form in which it arrives from an API
//     server: the same status, reason and causes, so that apply finds its class.
//     test/integration compares each that can be provoked with a real server's.
//
// # What it does not do
//
// It is not an API server, and neither is controller-runtime's fake client, which Inject may
// wrap. On that one Apply works, with conflicts on built-in kinds, forcing of objects that have
// a uid, and the injected faults. It differs from a server as follows (v0.25). For tests that
// depend on this, or on steps that change nothing, use a real server (envtest):
//
//   - A dry run of an apply is an apply: Applier.Plan writes.
//   - An object that an apply creates has no uid, so nothing can be pinned to it: Force,
//     Release and Rename are refused. Give the client objects with a uid (WithObjects).
//   - The uid in an apply is not compared, but replaces that of the object.
//   - Unknown fields, kinds and namespaces are accepted, and so is a Body of another kind than
//     the subresource's.
//   - Lists of custom resources are atomic.
//   - For a kind in its scheme it applies the configuration as the Go type writes it, with zero
//     values. So an apply of fewer fields, such as that to a parent with
//     reconciler.Config.Prune, conflicts over each field without omitempty that somebody owns.
//     Give these fields omitempty (the CRD may still require them).
//   - Its RESTMapper knows no kinds, which Round.Prune needs: give it one that was
//     made with their group versions (WithRESTMapper).
//
// Faults are injected above client-go, which repeats a 429 or 503 itself. A Recorder is below
// client-go, and sees only requests that pass the faults.
//
// # What the caller does
//
//  1. Reads a golden file before committing it: each line is a field that the
//     reconciler will own.
//  2. Names a fault's Call as narrowly as the test means it. A fault for any call
//     meets the first one, which may be a read.
//  3. Remembers that an Applier tries again what fails for the moment: a lost answer, for
//     example, heals within the call unless Times is Always. The waits in between cost no time
//     in a bubble of testing/synctest.
//
// Valid, a rival that owns the replicas, then a lost answer to the next apply:
//
//	c := applytest.Inject(t, fakeClient,
//		applytest.Fault{
//			Call:   applytest.Call{Verb: applytest.VerbApply, Kind: "Deployment"},
//			Answer: applytest.OwnershipConflict(fieldowners.Manager{Name: "hpa"}, ".spec.replicas"),
//		},
//		applytest.Fault{
//			Call:   applytest.Call{Verb: applytest.VerbApply, Kind: "Deployment"},
//			Answer: applytest.AnswerLost(),
//		})
//
// Invalid, and refused with a message: no server answers a read with a stale write, or an
// update with an ownership conflict. The caller has to see to what Inject cannot know, for
// example that the object of UIDGone does not exist, or that another manager than the applier
// could own the path.
//
//	applytest.Fault{Call: applytest.Call{Verb: applytest.VerbGet}, Answer: applytest.StaleWrite()}
//
// Invalid, though this cannot be detected: a golden file of an intent built from a typed
// object. Its zero values are claims like any other.
package applytest
