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

// show gives entries as one line each: who, and the fields as the server stores them.
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
