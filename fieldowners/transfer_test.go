package fieldowners_test

import (
	"testing"
)

func TestTransfer(t *testing.T) {
	const replicas, paused = `{"f:spec":{"f:replicas":{}}}`, `{"f:spec":{"f:paused":{}}}`
	const both = `{"f:spec":{"f:paused":{},"f:replicas":{}}}`
	for name, c := range map[string]transferCase{
		"Update becomes Apply": {
			reason:   "the new entry stands where the old one stood, with its time; others stay as they are, white space too",
			transfer: migrate("us", "old"),
			entries:  list{at(1, owned("a Apply v1", ` {"f:x": {}}`)), at(2, owned("old Update v1", replicas)), owned("b Update v1", replicas)},
			want:     []string{`1 a Apply v1  {"f:x": {}}`, "2 us Apply v1 " + replicas, "b Update v1 " + replicas},
		},
		"into an entry that is there": {
			reason:   "united where it stands; the later time stands; what both owned is ours alone then",
			transfer: migrate("us", "old"),
			entries:  list{at(5, owned("old Update v1", both)), at(3, owned("us Apply v1", paused))},
			want:     []string{"5 us Apply v1 " + both},
		},
		"our own Update entry": {
			reason:   "a controller goes over from get-modify-update to intents",
			transfer: migrate("us", "us"),
			entries:  list{owned("us Update v1", replicas)},
			want:     []string{"us Apply v1 " + replicas},
		},
		"Apply entries are no part of a migration": {
			reason:   "nothing is moved that was not asked for",
			transfer: migrate("us", "old"),
			entries:  list{owned("old Apply v1", replicas)},
			want:     []string{"old Apply v1 " + replicas},
		},
		"Update entries are no part of renaming": {
			reason:   "nothing is moved that was not asked for",
			transfer: rename("us", "old"),
			entries:  list{owned("old Update v1", replicas), owned("old Apply v1", paused)},
			want:     []string{"old Update v1 " + replicas, "us Apply v1 " + paused},
		},
		"the status for itself, the scale with the object": {
			reason:   "an apply of status owns status only; an entry of ours for the scale would conflict with our next apply",
			transfer: migrate("us", "old"),
			entries:  list{owned("old Update v1", paused), owned("old Update[status] v1", `{"f:status":{"f:phase":{}}}`), owned("old Update[scale] v1", replicas)},
			want:     []string{"us Apply v1 " + both, `us Apply[status] v1 {"f:status":{"f:phase":{}}}`},
		},
		"status through another subresource": {
			reason:   "an apply of the object cannot set it",
			transfer: migrate("us", "old"),
			entries:  list{owned("old Update[approval] v1", `{"f:status":{"f:phase":{}}}`), owned("us Apply v1", paused)},
			want:     []string{`us Apply[approval] v1 {"f:status":{"f:phase":{}}}`, "us Apply v1 " + paused},
		},
		"to who applies the scale": {
			reason:   "its next apply through the scale goes on owning it",
			transfer: migrate("us", "old"),
			entries:  list{owned("us Apply v1", paused), owned("us Apply[scale] v1", replicas), owned("old Update[scale] v1", replicas)},
			want:     []string{"us Apply v1 " + paused, "us Apply[scale] v1 " + replicas},
		},
		"to who applies the field both ways": {
			reason:   "the main entry is the one that counts",
			transfer: migrate("us", "old"),
			entries:  list{owned("us Apply v1", both), owned("us Apply[scale] v1", replicas), owned("old Update[scale] v1", replicas)},
			want:     []string{"us Apply v1 " + both, "us Apply[scale] v1 " + replicas},
		},
		"renamed, and it applies the scale": {
			reason:   "under its new name it applies as before",
			transfer: rename("us", "old"),
			entries:  list{owned("old Apply v1", paused), owned("old Apply[scale] v1", replicas)},
			want:     []string{"us Apply v1 " + paused, "us Apply[scale] v1 " + replicas},
		},
		"renamed, and it conflicted with itself": {
			reason:   "it does not under its new name",
			transfer: rename("us", "old"),
			entries:  list{owned("old Apply v1", both), owned("old Apply[scale] v1", replicas)},
			want:     []string{"us Apply v1 " + both},
		},
		"what it applied through the scale": {
			reason:   "the way out for a manager that conflicts with itself",
			transfer: rename("us", "us"),
			entries:  list{owned("us Apply v1", paused), owned("us Apply[scale] v1", replicas), owned("us Apply[status] v1", `{"f:status":{"f:phase":{}}}`)},
			want:     []string{"us Apply v1 " + both, `us Apply[status] v1 {"f:status":{"f:phase":{}}}`},
		},
		"of itself, a part": {
			reason:   "what is in the main entry stays there, and nothing is told of it",
			transfer: rename("us", "us .spec.replicas.x"),
			entries:  list{owned("us Apply v1", both)},
			want:     []string{"us Apply v1 " + both},
		},
		"merge": {
			reason:   "two managers become one",
			transfer: rename("us", "a", "b"),
			entries:  list{at(1, owned("a Apply v1", both)), owned("c Apply v1", paused), at(2, owned("b Apply v1", paused))},
			want:     []string{"2 us Apply v1 " + both, "c Apply v1 " + paused},
		},
		"two entries of one identity": {
			reason:   "writes to /scale leave them, and of two that are sent the server keeps the last only",
			transfer: migrate("us", "old"),
			entries: list{at(1, owned("old Update v1", replicas)), owned("old Update v1", paused),
				at(4, owned("x Update v1", paused)), owned("x Update v1", replicas)},
			want: []string{"1 us Apply v1 " + both, "4 x Update v1 " + both},
		},
		"nothing to move": {
			reason:   "a manager that owns nothing",
			transfer: migrate("us", "none"),
			entries:  list{owned("old Update v1", replicas)},
			want:     []string{"old Update v1 " + replicas},
		},
		"no managed fields": {
			reason:   "stripped or wiped: nothing is known, nothing moves",
			transfer: migrate("us", "before-first-apply"),
			want:     nil,
		},
		"kubectl's annotation": {
			reason:   "moved, the next apply would delete it",
			transfer: migrate("us", "kubectl"),
			entries: list{owned("kubectl Update v1",
				`{"f:metadata":{"f:annotations":{".":{},"f:kubectl.kubernetes.io/last-applied-configuration":{}}},"f:spec":{"f:paused":{}}}`)},
			want: []string{`us Apply v1 {"f:metadata":{"f:annotations":{}},"f:spec":{"f:paused":{}}}`,
				`kubectl Update v1 {"f:metadata":{"f:annotations":{"f:kubectl.kubernetes.io/last-applied-configuration":{}}}}`},
			kept: []string{`.metadata.annotations["kubectl.kubernetes.io/last-applied-configuration"] of kubectl/Update: ` +
				`the annotation is the record of client-side kubectl apply, and the next apply by the new owner would delete the annotation (to move the annotation anyway, name its path)`},
		},
		"finalizers": {
			reason:   "moved, the next apply would remove them",
			transfer: migrate("us", "old .metadata .spec"),
			entries: list{owned("old Update v1",
				`{"f:metadata":{"f:finalizers":{".":{},"v:\"a/b\"":{}}},"f:spec":{"f:paused":{}}}`)},
			want: []string{`us Apply v1 {"f:spec":{"f:paused":{}}}`,
				`old Update v1 {"f:metadata":{"f:finalizers":{".":{},"v:\"a/b\"":{}}}}`},
			kept: []string{
				".metadata.finalizers of old/Update: intents list no finalizers, so the next apply by the new owner would remove the finalizer (to move the finalizer anyway, name its path)",
				`.metadata.finalizers[="a/b"] of old/Update: intents list no finalizers, so the next apply by the new owner would remove the finalizer (to move the finalizer anyway, name its path)`,
			},
		},
		"finalizers by name": {
			reason:   "the way to take them on",
			transfer: migrate("us", "old .metadata.finalizers"),
			entries:  list{owned("old Update v1", `{"f:metadata":{"f:finalizers":{".":{},"v:\"a/b\"":{}}}}`)},
			want:     []string{`us Apply v1 {"f:metadata":{"f:finalizers":{".":{},"v:\"a/b\"":{}}}}`},
		},
		"kubectl's annotation by name": {
			reason:   "the way to get rid of it",
			transfer: migrate("us", `kubectl .metadata.annotations["kubectl.kubernetes.io/last-applied-configuration"]`),
			entries:  list{owned("kubectl Update v1", `{"f:metadata":{"f:annotations":{"f:kubectl.kubernetes.io/last-applied-configuration":{}}}}`)},
			want:     []string{`us Apply v1 {"f:metadata":{"f:annotations":{"f:kubectl.kubernetes.io/last-applied-configuration":{}}}}`},
		},
		"an annotation that was applied": {
			reason:   "an intent has it, and goes on under the new name",
			transfer: rename("us", "kubectl-last-applied"),
			entries:  list{owned("kubectl-last-applied Apply v1", `{"f:metadata":{"f:annotations":{"f:kubectl.kubernetes.io/last-applied-configuration":{}}}}`)},
			want:     []string{`us Apply v1 {"f:metadata":{"f:annotations":{"f:kubectl.kubernetes.io/last-applied-configuration":{}}}}`},
		},
	} {
		t.Run(name, c.run)
	}
}
