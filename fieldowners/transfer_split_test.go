package fieldowners_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"coapply.dev/fieldowners"
)

func TestTransferSplit(t *testing.T) {
	const web = `{"f:spec":{"f:containers":{"k:{\"name\":\"web\"}":{".":{},"f:image":{},"f:name":{}}},"f:paused":{}}}`
	for name, c := range map[string]transferCase{
		"below a path": {
			reason:   "the rest stays",
			transfer: rename("us", "a .spec.paused"),
			entries:  list{at(1, owned("a Apply v1", `{"f:spec":{"f:paused":{},"f:replicas":{}}}`))},
			want:     []string{`1 us Apply v1 {"f:spec":{"f:paused":{}}}`, `1 a Apply v1 {"f:spec":{"f:replicas":{}}}`},
		},
		"a whole list item": {
			reason:   "with its key field and the item itself",
			transfer: rename("us", `a .spec.containers[name="web"]`),
			entries:  list{owned("a Apply v1", web)},
			want: []string{`us Apply v1 {"f:spec":{"f:containers":{"k:{\"name\":\"web\"}":{".":{},"f:image":{},"f:name":{}}}}}`,
				`a Apply v1 {"f:spec":{"f:paused":{}}}`},
		},
		"a field of a list item": {
			reason:   "our next apply names the item and its key, so that we own them too, and the former owner keeps them",
			transfer: rename("us", `a .spec.containers[name="web"].image`),
			entries:  list{owned("a Apply v1", web)},
			want: []string{`us Apply v1 {"f:spec":{"f:containers":{"k:{\"name\":\"web\"}":{".":{},"f:image":{},"f:name":{}}}}}`,
				`a Apply v1 {"f:spec":{"f:containers":{"k:{\"name\":\"web\"}":{".":{},"f:name":{}}},"f:paused":{}}}`},
		},
		"the parent of what is not there": {
			reason:   "no item is shared for the sake of a field that nobody owns",
			transfer: rename("us", `a .spec.containers[name="web"].command .spec.paused`),
			entries:  list{owned("a Apply v1", web)},
			want: []string{`us Apply v1 {"f:spec":{"f:paused":{}}}`,
				`a Apply v1 {"f:spec":{"f:containers":{"k:{\"name\":\"web\"}":{".":{},"f:image":{},"f:name":{}}}}}`},
		},
		"a member of a set": {
			reason:   "of several",
			transfer: migrate("us", `a .metadata.finalizers[="x"]`),
			entries:  list{owned("a Update v1", `{"f:metadata":{"f:finalizers":{".":{},"v:\"x\"":{},"v:\"y\"":{}}}}`)},
			want: []string{`us Apply v1 {"f:metadata":{"f:finalizers":{".":{},"v:\"x\"":{}}}}`,
				`a Update v1 {"f:metadata":{"f:finalizers":{".":{},"v:\"y\"":{}}}}`},
		},
		"part of an atomic field": {
			reason:   "it cannot be divided",
			transfer: rename("us", `a .spec.selector.matchLabels.app`),
			entries:  list{owned("a Apply v1", `{"f:spec":{"f:selector":{}}}`)},
			want:     []string{`a Apply v1 {"f:spec":{"f:selector":{}}}`},
			kept:     []string{`.spec.selector of a/Apply: the field is owned as a whole, so its part .spec.selector.matchLabels.app cannot move alone`},
		},
		"one in two": {
			reason:   "what a former split left follows by a second one",
			transfer: rename("us", "a .spec.paused", "b"),
			entries:  list{owned("a Apply v1", `{"f:spec":{"f:paused":{}}}`), owned("b Apply v1", `{"f:spec":{"f:paused":{},"f:x":{}}}`)},
			want:     []string{`us Apply v1 {"f:spec":{"f:paused":{},"f:x":{}}}`},
		},
	} {
		t.Run(name, c.run)
	}
}

func TestTransferVersions(t *testing.T) {
	object := func(spec map[string]any) any { return map[string]any{"spec": spec} }
	const fields = `{"f:spec":{"f:cpu":{},"f:max":{},"f:min":{}}}`
	objects := fieldowners.Objects{
		"v1": object(map[string]any{"max": int64(5), "min": int64(1), "metrics": "x"}),
		"v0": object(map[string]any{"max": int64(5), "min": "one", "cpu": int64(80)}),
		"vX": nil,
	}
	for name, c := range map[string]transferCase{
		"what is equal moves": {
			reason:   "one Apply entry has one apiVersion",
			transfer: migrate("us", "old"), objects: objects,
			entries: list{owned("old Update v0", fields), owned("old Update v1", `{"f:spec":{"f:max":{},"f:metrics":{}}}`)},
			want:    []string{`us Apply v1 {"f:spec":{"f:max":{},"f:metrics":{}}}`, `old Update v0 {"f:spec":{"f:cpu":{},"f:min":{}}}`},
			kept: []string{
				".spec.cpu of old/Update: the object has no such field in v1",
				".spec.min of old/Update: the field has different values in v0 and v1",
			},
		},
		"what is owned as a whole": {
			reason:   "may have parts with owners of their own in the other version; a parent of fields that move is none such",
			transfer: migrate("us", "old"), objects: fieldowners.Objects{
				"v0": object(map[string]any{"ref": map[string]any{"name": "a"}, "list": []any{"a"}, "empty": []any{}, "in": map[string]any{"x": "1"}}),
				"v1": object(map[string]any{"ref": map[string]any{"name": "a"}, "list": []any{"a"}, "empty": []any{}, "in": map[string]any{"x": "1"}}),
			},
			entries: list{owned("old Update v0", `{"f:spec":{"f:empty":{},"f:in":{".":{},"f:x":{}},"f:list":{},"f:ref":{}}}`)},
			want:    []string{`us Apply v1 {"f:spec":{"f:empty":{},"f:in":{".":{},"f:x":{}}}}`, `old Update v0 {"f:spec":{"f:list":{},"f:ref":{}}}`},
			kept: []string{
				".spec.list of old/Update: the field is owned as a whole in v0, but perhaps not in v1",
				".spec.ref of old/Update: the field is owned as a whole in v0, but perhaps not in v1",
			},
		},
		"our entry's version": {
			reason:   "counts, not the one that was asked for",
			transfer: rename("us", "old"), objects: objects,
			entries: list{owned("us Apply v0", `{"f:spec":{"f:min":{}}}`), owned("old Apply v0", `{"f:spec":{"f:cpu":{}}}`)},
			want:    []string{`us Apply v0 {"f:spec":{"f:cpu":{},"f:min":{}}}`},
		},
		"not served": {
			reason:   "nothing is claimed that nobody can look at",
			transfer: migrate("us", "old"), objects: objects,
			entries: list{owned("old Update vX", `{"f:spec":{"f:max":{}}}`)},
			want:    []string{`old Update vX {"f:spec":{"f:max":{}}}`},
			kept:    []string{".spec.max of old/Update: vX is no longer served, so the meaning of the field in this apiVersion is unknown"},
		},
	} {
		t.Run(name, c.run)
	}
	plan, err := migrate("us", "old").Plan(list{owned("old Update v0", fields)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"v0", "v1"}, plan.Unread); diff != "" || len(plan.Moved) != 0 {
		t.Errorf("versions to read (-want +got):\n%s\nmoved %v", diff, plan.Moved)
	}
}

func TestUndoAsFarAsStillOwned(t *testing.T) {
	before := list{owned("old Update v1", `{"f:spec":{"f:paused":{},"f:replicas":{},"f:x":{}}}`), owned("us Apply v1", `{"f:spec":{"f:x":{}}}`)}
	plan, err := migrate("us", "old").Plan(before, nil)
	if err != nil {
		t.Fatal(err)
	}
	// Since then we dropped the replicas, and old wrote something else.
	now := list{owned("us Apply v1", `{"f:spec":{"f:paused":{},"f:x":{}}}`), owned("old Update v1", `{"f:spec":{"f:new":{}}}`)}
	undo, err := plan.Undo().Plan(now, nil)
	if err != nil {
		t.Fatal(err)
	}
	after, err := undo.Rewrite(now)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{`us Apply v1 {"f:spec":{"f:x":{}}}`, `old Update v1 {"f:spec":{"f:new":{},"f:paused":{},"f:x":{}}}`}
	if diff := cmp.Diff(want, show(after)); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
	want = []string{".spec.replicas of us/Apply: the manager does not own the field any more"}
	if diff := cmp.Diff(want, linesOf(undo.Unmoved)); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
}

func TestTransferRefuses(t *testing.T) {
	good := list{owned("old Update v1", `{"f:spec":{"f:replicas":{}}}`)}
	plan, err := migrate("us", "old").Plan(good, nil)
	if err != nil {
		t.Fatal(err)
	}
	for reason, test := range map[string]struct {
		entries list
		want    string
	}{
		"trailing garbage": {list{owned("old Update v1", `{"f:spec":{"f:replicas":{}}} {`)}, `managedFields[0] (manager "old"): fieldsV1: near offset`},
		"two Apply entries": {list{owned("us Apply v1", `{"f:a":{}}`), owned("us Apply v2", `{"f:b":{}}`)},
			`managedFields[1] (manager "us"): the manager has two Apply entries, in apiVersions v2 and v1`},
	} {
		if _, err := plan.Undo().Plan(test.entries, nil); err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%s: Plan gave %v", reason, err)
		}
		if _, err := plan.Rewrite(test.entries); err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%s: Rewrite gave %v", reason, err)
		}
		if err := plan.Done(test.entries); err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%s: Done gave %v", reason, err)
		}
	}
	other := list{owned("old Update v1", `{"f:spec":{"f:x":{}}}`)}
	if _, err := plan.Rewrite(other); err == nil || !strings.Contains(err.Error(), "differ from those for which the plan was made") {
		t.Errorf("other managed fields: %v", err)
	}
	both := append(list{owned("us Apply v1", `{"f:spec":{"f:replicas":{}}}`)}, good...)
	for want, entries := range map[string]list{"us/Apply does not own .spec.replicas": other, "old/Update still owns .spec.replicas": both} {
		if err := plan.Done(entries); err == nil || err.Error() != want {
			t.Errorf("Done gave %v, want %s", err, want)
		}
	}
}

func TestStored(t *testing.T) {
	sent := list{owned("a Apply v1", `{"f:x":{}}`), owned("b Update v0", `{"f:x":{},"f:y":{}}`)}
	bad := list{owned("a Apply v1", `{`)}
	for reason, test := range map[string]struct {
		sent, stored list
		want         string
	}{
		"more, in another order": {sent, list{owned("c Apply v1", `{"f:z":{}}`), sent[1], sent[0]}, ""},
		"an entry less":          {sent, sent[:1], "b/Update does not own .x"},
		"a field less":           {sent, list{sent[0], owned("b Update v0", `{"f:x":{}}`)}, "b/Update does not own .y"},
		"another apiVersion":     {sent, list{sent[0], owned("b Update v1", `{"f:x":{},"f:y":{}}`)}, "b/Update does not own .x"},
		"nothing":                {sent, nil, "a/Apply does not own .x"},
		"malformed, stored":      {sent, bad, `managedFields[0] (manager "a")`},
		"malformed, sent":        {bad, sent, `managedFields[0] (manager "a")`},
	} {
		err := fieldowners.Stored(test.sent, test.stored)
		if (err == nil) != (test.want == "") || err != nil && !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", reason, err, test.want)
		}
	}
}
