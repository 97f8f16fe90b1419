package fieldowners_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/fieldowners"
)

// owned makes an entry of "NAME OPERATION[SUBRESOURCE] APIVERSION".
func owned(who, fields string) metav1.ManagedFieldsEntry {
	words := strings.Fields(who)
	operation, subresource, _ := strings.Cut(strings.TrimSuffix(words[1], "]"), "[")
	e := entry(words[0], metav1.ManagedFieldsOperationType(operation), fields)
	e.Subresource, e.APIVersion = subresource, words[2]
	return e
}

func at(second int64, e metav1.ManagedFieldsEntry) metav1.ManagedFieldsEntry {
	e.Time = &metav1.Time{Time: time.Unix(second, 0)}
	return e
}

// show returns entries as one line each: who, and the fields as the server stores them.
func show(entries []metav1.ManagedFieldsEntry) (lines []string) {
	for _, e := range entries {
		line := fmt.Sprintf("%s %s[%s] %s %s", e.Manager, e.Operation, e.Subresource, e.APIVersion, e.FieldsV1.GetRawBytes())
		if e.Time != nil {
			line = fmt.Sprintf("%d %s", e.Time.Unix(), line)
		}
		lines = append(lines, strings.ReplaceAll(line, "[]", ""))
	}
	return lines
}

func linesOf[T fmt.Stringer](all []T) (lines []string) {
	for _, one := range all {
		lines = append(lines, one.String())
	}
	return lines
}

type list = []metav1.ManagedFieldsEntry

func migrate(to string, from ...string) fieldowners.Transfer {
	return transfer("Update", to, from...)
}

func rename(to string, from ...string) fieldowners.Transfer {
	return transfer("Apply", to, from...)
}

// transfer takes managers as "NAME PATH PATH".
func transfer(operation, to string, from ...string) fieldowners.Transfer {
	t := fieldowners.Transfer{Operation: metav1.ManagedFieldsOperationType(operation), To: to, APIVersion: "v1"}
	for _, f := range from {
		words := strings.Fields(f)
		source := fieldowners.Source{Manager: words[0]}
		for _, path := range words[1:] {
			source.Paths = append(source.Paths, fieldowners.MustParsePath(path))
		}
		t.From = append(t.From, source)
	}
	return t
}

type transferCase struct {
	reason   string
	transfer fieldowners.Transfer
	entries  list
	objects  fieldowners.Objects
	want     []string // the entries afterwards
	kept     []string
}

func (c transferCase) run(t *testing.T) {
	t.Log(c.reason)
	before := show(c.entries)
	plan, err := c.transfer.Plan(c.entries, c.objects)
	if err != nil {
		t.Fatal(err)
	}
	after, err := plan.Rewrite(c.entries)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(c.want, show(after)); diff != "" {
		t.Errorf("entries (-want +got):\n%s\nmoved: %q", diff, linesOf(plan.Moved))
	}
	if diff := cmp.Diff(c.kept, linesOf(plan.Unmoved)); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	if err := plan.Done(after); err != nil {
		t.Errorf("after the rewriting: %v", err)
	}
	if diff := cmp.Diff(before, show(c.entries)); diff != "" {
		t.Errorf("the caller's entries were written to:\n%s", diff)
	}
	checkUndo(t, c.entries, after, plan, c.objects)
}

// checkUndo holds that an undo restores who owned what, and that its undo does it
// again, also of handovers that were kept as JSON.
func checkUndo(t *testing.T, before, after list, plan fieldowners.TransferPlan, objects fieldowners.Objects) {
	t.Helper()
	plan.Moved = throughJSON(t, plan.Moved)
	undo, err := plan.Undo().Plan(after, objects)
	if err != nil {
		t.Fatal(err)
	}
	restored, err := undo.Rewrite(after)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(ownersIn(t, before), ownersIn(t, restored)); diff != "" {
		t.Errorf("undone (-before +restored):\n%s", diff)
	}
	redo, err := undo.Undo().Plan(restored, objects)
	if err != nil {
		t.Fatal(err)
	}
	again, err := redo.Rewrite(restored)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(ownersIn(t, after), ownersIn(t, again)); diff != "" {
		t.Errorf("redone (-after +again):\n%s", diff)
	}
}

func throughJSON(t *testing.T, moved []fieldowners.Handover) (read []fieldowners.Handover) {
	t.Helper()
	kept, err := json.Marshal(moved)
	if err == nil {
		err = json.Unmarshal(kept, &read)
	}
	if err != nil {
		t.Fatal(err)
	}
	return read
}

// ownersIn lists every field with each of its owners.
func ownersIn(t *testing.T, entries list) (lines []string) {
	t.Helper()
	parsed, err := fieldowners.Parse(entries)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range parsed.Entries() {
		for _, path := range e.Fields() {
			lines = append(lines, fmt.Sprintf("%s %s %s", path, e.Manager, e.APIVersion))
		}
	}
	slices.Sort(lines)
	return lines
}

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
				`it is client-side kubectl's own record; the next apply would delete it (name its path to move it all the same)`},
		},
		"finalizers": {
			reason:   "moved, the next apply would remove them",
			transfer: migrate("us", "old .metadata .spec"),
			entries: list{owned("old Update v1",
				`{"f:metadata":{"f:finalizers":{".":{},"v:\"a/b\"":{}}},"f:spec":{"f:paused":{}}}`)},
			want: []string{`us Apply v1 {"f:spec":{"f:paused":{}}}`,
				`old Update v1 {"f:metadata":{"f:finalizers":{".":{},"v:\"a/b\"":{}}}}`},
			kept: []string{
				".metadata.finalizers of old/Update: finalizers stand in no intent; the next apply would remove it (name its path to move it all the same)",
				`.metadata.finalizers[="a/b"] of old/Update: finalizers stand in no intent; the next apply would remove it (name its path to move it all the same)`,
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
