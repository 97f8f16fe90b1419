// Package applytest tests reconcilers that write with package apply.
//
// # What there is
//
//  1. Golden compares the intents of a pure function with a file.
//  2. Recorder counts the requests that go over the wire, by verb and by the class
//     of their answer.
//  3. Inject puts faults into a client, each in the form in which it arrives from
//     an API server: the same status, reason and causes, so that apply finds its
//     class. test/integration holds each that can be provoked against a real one.
//
// # What it does not do
//
// It is no API server. controller-runtime's fake client, which Inject may wrap,
// has no opinion on preconditions and knows lists of custom resources as atomic:
// what is said of conflicts, ownership and steps that change nothing counts from a
// real server alone (envtest).
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
// write, and no updater has an ownership conflict.
//
//	applytest.Fault{Call: applytest.Call{Verb: applytest.VerbGet}, Answer: applytest.StaleWrite()}
//
// Invalid, though nothing can refuse it: a golden file of an intent built from a
// typed object. Its zero values are claims like any other.
package applytest
