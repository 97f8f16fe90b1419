// Package applytest tests reconcilers that write with package apply.
//
// # What there is
//
//  1. Golden compares the intents of a pure function with a file.
//  2. Owns holds what is emitted against the contract of the field manager.
//  3. Recorder counts the requests that go over the wire, by verb and by the class
//     of their answer.
//  4. Inject puts faults into a client, each in the form in which it arrives from
//     an API server: the same status, reason and causes, so that apply finds its
//     class. test/integration holds each that can be provoked against a real one.
//
// # What it does not do
//
// It is not an API server, and neither is controller-runtime's fake client, which Inject
// may wrap. On that one Apply works, with conflicts on built-in kinds, forcing of
// objects that have a uid, and the injected faults. It differs in what follows (as
// of v0.25), and for a test of that, or of steps that change nothing, take a real
// server (envtest):
//
//   - It takes a dry run of an apply for an apply: Applier.Plan writes.
//   - What an apply creates has no uid, so that it cannot be pinned: Force, Release
//     and Rename are refused. Give it objects with a uid (WithObjects).
//   - The uid in an apply is not compared, but replaces that of the object.
//   - Fields, kinds and namespaces that are not there are accepted, and so is a
//     Body of another kind than the subresource has.
//   - Lists of custom resources are atomic to it.
//   - Of a kind in its scheme it applies what the Go type makes of the configuration,
//     zero values included. So an apply of less, such as that of a parent with
//     reconciler.Config.Prune, conflicts about each field without omitempty that
//     somebody owns. Give such a field omitempty (the CRD may require it all the same).
//   - Its RESTMapper knows no kinds, which Round.Prune needs: give it one that was
//     made with their group versions (WithRESTMapper).
//
// Faults come from above client-go, whose own repetition of 429 and 503 is behind
// them. A Recorder is below it, and sees only what passes the faults.
//
// # What the caller does
//
//  1. Reads a golden file before committing it: each line is a field that the
//     reconciler will own.
//  2. Names a fault's Call as narrowly as the test means it. A fault for any call
//     meets the first one, which may be a read.
//  3. Remembers that an Applier repeats by itself what passes within a moment: a
//     lost answer, say, heals within the call unless Times is Always. The waits in
//     between cost no time in a bubble of testing/synctest.
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
// Invalid, and refused with a message: no server answers a read with a stale
// write, and no updater has an ownership conflict. What Inject cannot know is for
// the caller: whether the object that UIDGone speaks of is there, say, or whether
// another manager than the applier could own the path.
//
//	applytest.Fault{Call: applytest.Call{Verb: applytest.VerbGet}, Answer: applytest.StaleWrite()}
//
// Invalid, though nothing can refuse it: a golden file of an intent built from a
// typed object. Its zero values are claims like any other.
package applytest
